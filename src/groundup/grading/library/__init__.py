"""Judging an untrusted library by an original's hidden pytest tests: composition, trusted runner, decision."""
