"""The command line, and predictions for it."""

from tests.cli.conftest import groundup, predict

__all__ = ["groundup", "predict"]
