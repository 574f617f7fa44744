"""What tests of the API share: settings in a folder of their own, and predictions by behaviour."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from groundup.settings import Settings
from tests.runs.configurations import BUILDER, PROVIDER
from tests.runs.toy import BEHAVIOUR

Predict = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that write nowhere else."""
    return Settings(
        cache_dir=tmp_path / "cache",
        output=tmp_path / "runs",
        sandbox=PROVIDER,
        builder=BUILDER,
        jobs=2,
        retry_delay_s=0,
    )


@pytest.fixture
def predict(tmp_path: Path) -> Predict:
    """Write predictions that say how grading them shall go; return their folder."""

    def write(behaviours: Mapping[str, str]) -> Path:
        for place, behaviour in behaviours.items():
            (tmp_path / "predictions" / place).mkdir(parents=True)
            (tmp_path / "predictions" / place / BEHAVIOUR).write_text(behaviour)
        return tmp_path / "predictions"

    return write
