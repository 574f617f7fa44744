"""What is on this machine, by names of files alone."""

from pathlib import Path

import pytest

from groundup.environments.installed_tools import (
    programs_of_pyenv,
    pyenv_roots,
    python_at_hand,
    toolchain_lack,
    uv_folder,
)
from groundup.languages import TOOLCHAINS


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"UV_PYTHON_INSTALL_DIR": "/u", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/u"),
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/uv/python"),
        ({"HOME": "/h"}, "/h/.local/share/uv/python"),
        ({"HOME": ""}, "/nonexistent/.local/share/uv/python"),
    ],
)
def test_uv_keeps_interpreters_where_it_is_told(variables: dict[str, str], folder: str) -> None:
    """Else in the user's data."""
    assert str(uv_folder(variables)) == folder


@pytest.mark.parametrize(
    ("variables", "roots"),
    [
        ({"PYENV_ROOT": "/p", "PATH": "/q/shims:/bin"}, ["/p"]),
        ({"PATH": "/q/shims:/bin:/r/shims"}, ["/q", "/r"]),
        ({"PYENV_ROOT": "", "PATH": "/bin"}, []),
        ({}, []),
    ],
)
def test_pyenv_lies_where_it_says_or_beside_its_shims(variables: dict[str, str], roots: list[str]) -> None:
    """There may be two."""
    assert list(map(str, pyenv_roots(variables))) == roots


def test_interpreters_are_known_by_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one minor version, and of no other that begins alike."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.delenv("UV_PYTHON_INSTALL_DIR", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    fetched = tmp_path / "fetched"
    (fetched / "cpython-3.71.2-linux").mkdir(parents=True)
    assert not python_at_hand("3.7", fetched)
    assert python_at_hand("3.71", fetched)
    (tmp_path / "versions" / "3.72.1" / "bin").mkdir(parents=True)
    assert [path.parent.name for path in programs_of_pyenv(tmp_path, "3.72")] == ["3.72.1"]
    assert programs_of_pyenv(tmp_path, "3.7") == []


def test_a_toolchain_that_is_lacking_says_how_it_comes(tmp_path: Path) -> None:
    """Nothing where its program is found."""
    for name, record in TOOLCHAINS.items():
        variables = {"PATH": str(tmp_path)}
        assert toolchain_lack(name, variables) == f"{record.program} is not on this machine; {record.install}"
        (tmp_path / record.program).touch(mode=0o755)
        assert toolchain_lack(name, variables) == ""
