"""Folders that strangers filled: copying, digesting, unpacking and removing them safely."""
