"""Movies behind tokens."""
