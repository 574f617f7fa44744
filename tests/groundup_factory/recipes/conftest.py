"""Recipes are tried as the suite grades: its fixtures are shared."""

from tests.environments.test_git_sources import upstream
from tests.suites.nl2repobench.conftest import image_environment, laboratory, trial

__all__ = ["image_environment", "laboratory", "trial", "upstream"]
