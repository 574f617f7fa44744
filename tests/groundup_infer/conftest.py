"""The command line, with DI-Bench's tiny dataset pulled."""

from tests.suites.dibench.conftest import groundup  # noqa: F401 - a fixture
