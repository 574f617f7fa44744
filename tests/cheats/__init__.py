"""Submissions that want a better score than they deserve. `corpus.py` says what one is, `matrix.py` tries them all."""
