"""A model whose replies are written down. It speaks real HTTP, so that everything before it is tried for real."""
