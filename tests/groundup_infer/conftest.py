"""The command line, with DI-Bench's tiny dataset pulled."""

from tests.suites.dibench.conftest import groundup

__all__ = ["groundup"]
