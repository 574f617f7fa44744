"""Recipes are tried as the suite grades: its fixtures are shared."""

from tests.suites.nl2repobench.conftest import image_environment, laboratory, trial

__all__ = ["image_environment", "laboratory", "trial"]
