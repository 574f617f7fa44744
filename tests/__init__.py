"""Tests mirror the source tree; each docstring is the promise it guards."""
