"""Tables of names: what ships, entry points and dotted paths; errors name the choices."""

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from groundup.catalog import Table
from groundup.domain.errors import UsageError


def _broken() -> Callable[[str], str]:
    raise ImportError("no module named grammar")


TABLE: Table[Callable[[str], str]] = Table("speller", {"upper": lambda: str.upper, "broken": _broken})


def swapped(text: str) -> str:
    """Return *text* with the case of each letter the other way round."""
    return text.swapcase()


def test_a_name_or_a_dotted_path_is_found() -> None:
    """What ships is found by its name, anything else by where it is."""
    assert TABLE.find("upper")("a") == "A"
    assert TABLE.find("tests.test_catalog:swapped")("aB") == "Ab"


def test_a_module_of_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `python -m`; what is installed goes before it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    for name in ("spelt_here", "colorsys"):
        (tmp_path / f"{name}.py").write_text("def lower(text): return text.lower()\n")
    assert TABLE.find("spelt_here:lower")("A") == "a"
    with pytest.raises(UsageError, match="colorsys"):
        TABLE.find("colorsys:lower")


def test_an_entry_point_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution adds a name, which comes after what ships."""
    point = metadata.EntryPoint("swapped", "tests.test_catalog:swapped", "groundup.speller")

    def points(*, group: str, name: str = "swapped") -> list[metadata.EntryPoint]:
        return [point] if (group, name) == (point.group, point.name) else []

    monkeypatch.setattr(metadata, "entry_points", points)
    assert TABLE.names() == ["broken", "swapped", "upper"]
    assert TABLE.knows("swapped")
    assert not TABLE.knows("lower")
    assert TABLE.find("swapped")("aB") == "Ab"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("uper", r"unknown speller 'uper'; did you mean 'upper'\?"),
        ("zzz", "unknown speller 'zzz'; choose from: broken, upper"),
        ("broken", "speller 'broken' cannot be loaded: no module named grammar"),
        ("tests.test_catalog:gone", "speller 'tests.test_catalog:gone' cannot be loaded: .*gone"),
    ],
)
def test_what_is_not_there_is_a_sentence(name: str, message: str) -> None:
    """A misspelt name, an unknown one, and what cannot be imported are the user's to mend."""
    with pytest.raises(UsageError, match=message):
        TABLE.find(name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def (", r"cannot be loaded: SyntaxError: .*slipped.py, line 1"),
        ("1 / 0", r"cannot be loaded: ZeroDivisionError: .*slipped.py, line 1\)"),
        ("def make():\n    pass", r"cannot be made: TypeError: .*1 was given"),
        (
            "def make(text):\n    raise ValueError(text)",
            r"cannot be made: ValueError: given .*slipped.py, line 2\)",
        ),
    ],
)
def test_what_a_plug_in_raises_is_its_own_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """Whoever wrote it reads what it was and where; it was called a bug of groundup."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "slipped", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slipped.py").write_text(text)
    with pytest.raises(UsageError, match=says):
        TABLE.make("slipped:make", "given")
