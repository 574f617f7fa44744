"""What tests of the leaderboard's commands share with those of the others."""

from tests.cli.conftest import groundup, predict

__all__ = ["groundup", "predict"]
