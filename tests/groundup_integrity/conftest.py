"""Trials in real sandboxes."""

from tests.suites.nl2repobench.conftest import image_environment, laboratory, trial

__all__ = ["image_environment", "laboratory", "trial"]
