"""Tests of Python's manifests."""
