"""What tests of the bridges' commands share with those of the others."""

from tests.cli.conftest import groundup
from tests.sandbox.test_debian import debian

__all__ = ["debian", "groundup"]
