"""What tests of reports share with those of commands."""

from tests.cli.conftest import groundup

__all__ = ["groundup"]
