"""The command line, and settings of a test's own."""

from tests.api.conftest import settings
from tests.cli.conftest import groundup

__all__ = ["groundup", "settings"]
