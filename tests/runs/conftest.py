"""What tests of runs share: settings in a folder of their own, and predictions by behaviour."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from groundup.settings import Settings
from groundup.store.records import Predictions
from tests.runs.configurations import BUILDER, PROVIDER
from tests.runs.toy import BEHAVIOUR


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that write nowhere else."""
    return Settings(cache_dir=tmp_path / "cache", output=tmp_path / "runs", sandbox=PROVIDER, builder=BUILDER)


@pytest.fixture
def predict(tmp_path: Path) -> Callable[[Mapping[str, str]], Predictions]:
    """Write predictions: behaviours by `<task>` or `<task>/<index>`."""

    def write(behaviours: Mapping[str, str]) -> Predictions:
        for place, behaviour in behaviours.items():
            folder = tmp_path / "predictions" / place
            folder.mkdir(parents=True, exist_ok=True)
            (folder / BEHAVIOUR).write_text(behaviour)
        return Predictions(path=str(tmp_path / "predictions"))

    return write
