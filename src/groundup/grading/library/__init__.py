"""Judging an untrusted library by an original's hidden pytest tests: composition, trusted runner, decision."""

from pathlib import Path


def runner_source() -> bytes:
    """Return the text of the trusted runner, which decides verdicts as much as a recipe does."""
    return Path(__file__).with_name("runner.py").read_bytes()


def failing_source() -> bytes:
    """Return the text of the plugin under which every test fails, which stands beside the runner."""
    return Path(__file__).with_name("failing.py").read_bytes()
