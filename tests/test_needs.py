"""Tests of tests.needs: what is missing is said by name, and fails where it is expected."""

from pathlib import Path

import pytest

from tests.needs import EXPECTED, lack, need, skipped_by_reason, trouble


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a program of the name `some-tool` is looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(EXPECTED, "")
    trouble.cache_clear()
    return tmp_path / "some-tool"


def _write(tool: Path, exit_code: int) -> None:
    tool.write_text(f"#!/bin/sh\necho no toolchain >&2\nexit {exit_code}\n")
    tool.chmod(0o755)


def test_a_tool_that_starts_is_enough(tool: Path) -> None:
    """Nothing is skipped where the tool is."""
    _write(tool, 0)
    need("some-tool")


def test_a_tool_that_is_not_there_skips_by_name(tool: Path) -> None:
    """The reason names the tool, so that the summary can count."""
    with pytest.raises(pytest.skip.Exception, match=f"needs {tool.name}: {tool.name} is not on PATH"):
        need("some-tool")


def test_a_shim_with_nothing_behind_it_skips_too(tool: Path) -> None:
    """A Rust that another user installed is on PATH and does not start."""
    _write(tool, 1)
    with pytest.raises(pytest.skip.Exception, match="does not start: no toolchain"):
        need("some-tool")


def test_a_program_that_is_too_old_skips_with_both_versions(tool: Path) -> None:
    """Debian 12's Cargo knows no sparse index."""
    for program in ("cargo", "rustc"):
        _write(tool.parent / program, 0)
    (tool.parent / "cargo").write_text("#!/bin/sh\necho cargo 1.65.0\n")
    with pytest.raises(pytest.skip.Exception, match=r"needs cargo: cargo 1\.65\.0 is older than 1\.70"):
        need("cargo")


def test_a_tool_that_is_expected_fails(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI never hides behind a skip what it is there to run."""
    monkeypatch.setenv(EXPECTED, f"git,{tool.name}")
    with pytest.raises(pytest.fail.Exception, match="it is expected here"):
        need("some-tool")
    with pytest.raises(pytest.skip.Exception):
        lack("other", "why")


def test_what_was_skipped_is_counted_with_what_brings_it() -> None:
    """Most first; other reasons are counted in their own words."""
    reasons = ["Skipped: needs npm: x", "Skipped: needs git: y", "Skipped: needs git: z", "Skipped: as root"]
    assert skipped_by_reason(reasons) == [
        "    2 need git: apt-get install git",
        "    1 need npm: apt-get install npm (10 or later)",
        "    1 as root",
    ]
    assert skipped_by_reason([]) == []
