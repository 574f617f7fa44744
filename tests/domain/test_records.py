"""Records: changed copies, and that nothing changes them otherwise."""

import re
from pathlib import Path

import pytest

from groundup.domain.limits import Limits

SOURCES = Path(__file__).parents[2] / "src" / "groundup"


def test_a_changed_record_has_only_fields_that_exist() -> None:
    """A misspelt field is an error, where pydantic's own copy would keep it without a word."""
    limits = Limits(cpus=1, memory_mb=512)
    assert limits.but(memory_mb=1024) == Limits(cpus=1, memory_mb=1024)
    with pytest.raises(TypeError, match="Limits has no field 'memory_mbb'"):
        limits.but(memory_mbb=1024)


def test_nothing_else_makes_changed_copies() -> None:
    """`model_copy(update=...)`, which checks no names, stands in `Record.but`."""
    found = [
        path for path in SOURCES.rglob("*.py") if re.search(r"model_copy\(\s*update", path.read_text("utf-8"))
    ]
    names = sorted(path.relative_to(SOURCES).as_posix() for path in found)
    assert names == ["domain/records.py"]
