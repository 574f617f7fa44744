"""The tiny dataset."""

from tests.suites.dibench.conftest import dataset

__all__ = ["dataset"]
