"""Dependency declarations of four languages: read, edit, mask and write, losslessly."""
