"""Tests of groundup.environments.interpreters: remembering saves a search and never gives another answer."""

import json
import os
from pathlib import Path

import pytest

from groundup.environments.interpreters import find_interpreter, known_interpreter, known_present
from tests.environments.conftest import MINOR


@pytest.fixture
def searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a uv first on PATH that writes a line for each search; return where it writes."""
    ended = tmp_path / "searches"
    ended.touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    shim = programs / f"python{MINOR}"
    shim.write_text(f"#!/bin/sh\necho asked >> {ended}\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("HOME", str(tmp_path))  # whose folders other tests change meanwhile
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return ended


async def test_the_second_time_no_one_is_asked(tmp_path: Path, searches: Path) -> None:
    """The answer is the searched one, and no program on PATH is started for it again."""
    found = await known_interpreter(MINOR, tmp_path)
    assert found == await find_interpreter(MINOR, tmp_path / "interpreters")
    asked = searches.read_text()
    assert await known_interpreter(MINOR, tmp_path) == found
    assert searches.read_text() == asked


async def test_whether_one_is_here_is_remembered_too(tmp_path: Path, searches: Path) -> None:
    """Each run asks before it begins; an answer that still holds starts no program."""
    found = await known_present(MINOR, tmp_path)
    asked = searches.read_text()
    assert found is not None
    assert await known_present(MINOR, tmp_path) == await known_interpreter(MINOR, tmp_path) == found
    assert searches.read_text() == asked
    assert await known_present("3.99", tmp_path) is None


async def test_a_library_that_was_never_there_is_no_reason_to_ask_again(tmp_path: Path, searches: Path) -> None:
    """Debian's Python names a shared library whose package need not be installed."""
    await known_interpreter(MINOR, tmp_path)
    (remembered,) = (tmp_path / "found-interpreters").iterdir()
    known = json.loads(remembered.read_text())
    known["interpreter"]["shared_library"] = str(tmp_path / "libpython-of-no-package.so")
    known["library"] = None
    remembered.write_text(json.dumps(known))
    asked = searches.read_text()
    await known_interpreter(MINOR, tmp_path)
    assert searches.read_text() == asked


async def test_a_changed_folder_of_programs_asks_anew(tmp_path: Path, searches: Path) -> None:
    """An interpreter that was installed since is seen, for its folder changed."""
    await known_interpreter(MINOR, tmp_path)
    asked = searches.read_text()
    (tmp_path / "programs" / "new").touch()
    await known_interpreter(MINOR, tmp_path)
    assert searches.read_text() != asked


async def test_a_changed_setting_asks_anew(
    tmp_path: Path, searches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever configures uv may lead to another interpreter."""
    await known_interpreter(MINOR, tmp_path)
    asked = searches.read_text()
    monkeypatch.setenv("UV_PYTHON_PREFERENCE", "system")
    await known_interpreter(MINOR, tmp_path)
    assert searches.read_text() != asked


async def test_two_terminals_do_not_make_each_other_ask(
    tmp_path: Path, searches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one finds with its PATH stays known while another one, with another PATH, looks for itself."""
    await known_interpreter(MINOR, tmp_path)
    asked = searches.read_text()
    with monkeypatch.context() as other:
        other.setenv("PATH", os.environ["PATH"].partition(":")[2])  # without the folder that notes searches
        await known_interpreter(MINOR, tmp_path)
    await known_interpreter(MINOR, tmp_path)
    assert searches.read_text() == asked


async def test_an_interpreter_that_is_gone_is_not_returned(tmp_path: Path) -> None:
    """What was remembered is checked against the disk, also when the file is torn."""
    found = await known_interpreter(MINOR, tmp_path)
    (record,) = (tmp_path / "found-interpreters").iterdir()
    record.write_text(record.read_text().replace(str(found.executable), "/nowhere/python"))
    assert await known_interpreter(MINOR, tmp_path) == found
    record.write_text("{torn")
    assert await known_interpreter(MINOR, tmp_path) == found


async def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    """The interpreter is found all the same."""
    (tmp_path / "found-interpreters").write_text("a file stands here")
    assert (await known_interpreter(MINOR, tmp_path)).version.startswith(f"{MINOR}.")
    assert [path.name for path in tmp_path.iterdir()] == ["found-interpreters"]
