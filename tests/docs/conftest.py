"""The command line in this process, as its own tests call it."""

from tests.cli.conftest import groundup, predict

__all__ = ["groundup", "predict"]
