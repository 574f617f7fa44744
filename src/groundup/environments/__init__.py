"""From recipes to layers: interpreters, locked requirements, sources; built once, content-addressed."""
