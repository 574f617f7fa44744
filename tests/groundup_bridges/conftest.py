"""What tests of the bridges' commands share with those of the others."""

from tests.cli.conftest import groundup

__all__ = ["groundup"]
