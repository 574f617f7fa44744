"""Tests of groundup.environments.interpreters."""

import os
import sys
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, MachineError
from groundup.environments.interpreters import (
    BUNDLED,
    Interpreter,
    _found,
    find_interpreter,
    interpreter_mounts,
    pyenv_folders,
)
from groundup.sandbox.programs import ProgramResult
from tests.environments.conftest import MINOR


def installation(prefix: Path, *folders: str) -> Interpreter:
    """Lay out a prefix as some system does, and return its interpreter."""
    for folder in ("bin", "lib/python3.11", "include/python3.11", *folders):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    (prefix / "bin/python3.11").touch()
    return Interpreter(
        version="3.11.9",
        prefix=prefix,
        executable=prefix / "bin/python3.11",
        standard_library=(prefix / "lib/python3.11",),
        include=prefix / "include/python3.11",
        abi="cpython-311",
        shared_library=None,
        packages=prefix / "lib/python3.11/site-packages",
    )


@pytest.mark.parametrize(
    ("wheels", "installed"),
    [
        (("pip-22.0.4-py3-none-any.whl", "setuptools-47.1.0-py3-none-any.whl"), ("pip", "setuptools")),
        (("pip-23.0.1-py3-none-any.whl", "setuptools-65.5.0-py3-none-any.whl"), ("pip",)),
        (("pip-22.0.4-py3-none-any.whl",), ("pip",)),
    ],
)
def test_an_old_pip_brings_setuptools(tmp_path: Path, wheels: tuple[str, ...], installed: tuple[str, ...]) -> None:
    """Newer ones build in an environment of their own; where no setuptools is bundled, none is asked for."""
    interpreter = installation(tmp_path, f"lib/python3.11/{BUNDLED}")
    for wheel in wheels:
        (interpreter.standard_library[0] / BUNDLED / wheel).touch()
    assert interpreter.bundled_for_pip == installed


async def test_the_running_python_is_found_beyond_its_virtual_environment(tmp_path: Path) -> None:
    """The base interpreter is found, with its micro version; never the virtual environment around the tests."""
    found = await find_interpreter(MINOR, tmp_path)
    assert found.version.startswith(f"{MINOR}.")
    assert not (found.prefix / "pyvenv.cfg").exists()
    assert found.executable.is_file()
    assert all(folder.is_dir() for folder in found.standard_library)


async def test_a_python_that_cannot_be_had_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an interpreter and without permission to fetch one it is infrastructure, with a way out."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(InfrastructureError, match=r"install python3\.99 by .*put it on PATH"):
        await find_interpreter("3.99", tmp_path)


async def test_what_cannot_be_fetched_is_not_tried_for_each_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second refusal is the first one's sentence, and uv is not asked to fetch again; other settings are."""
    asked: list[list[str]] = []

    async def counting(words: list[str], *_: object) -> ProgramResult:
        asked.append(words)
        return ProgramResult(exit_code=1, stdout=b"", stderr=b"no way there", duration_s=0.0)

    monkeypatch.setattr("groundup.environments.interpreters._uv", counting)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    sentences = []
    for folder in ("one", "two"):
        with pytest.raises(MachineError, match="no way there") as refused:
            await find_interpreter("3.98", tmp_path / folder)
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert sum("install" in words for words in asked) == 1
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "https://mirror.example")
    with pytest.raises(MachineError):
        await find_interpreter("3.98", tmp_path / "one")
    assert sum("install" in words for words in asked) == 2


async def test_a_python_is_found_where_uv_cannot_keep_a_cache(tmp_path: Path) -> None:
    """A home that cannot be written hides no interpreter that is there."""
    (tmp_path / "file").touch()
    path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
    found = await _found(MINOR, {"PATH": path, "UV_CACHE_DIR": str(tmp_path / "file" / "cache")})

    assert found is not None
    assert found.version.startswith(f"{MINOR}.")


async def test_versions_that_pyenv_keeps_inactive_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a shim that does not answer the installed interpreter itself is used, the newest micro first."""
    own = await find_interpreter(MINOR, tmp_path)
    for micro in ("2", "10"):
        programs = tmp_path / f"pyenv/versions/{MINOR}.{micro}/bin"
        programs.mkdir(parents=True)
        for name in ("python3", f"python{MINOR}"):
            (programs / name).symlink_to(own.executable)
    (tmp_path / "pyenv/shims").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/pyenv/shims")
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    assert [folder.parent.name for folder in pyenv_folders(MINOR, {"PATH": f"{tmp_path}/pyenv/shims"})] == [
        f"{MINOR}.10",
        f"{MINOR}.2",
    ]
    assert (await find_interpreter(MINOR, tmp_path)).version == own.version


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_pyenv_of_somebody_else_is_passed_over(tmp_path: Path) -> None:
    """Variables inherited from another user name folders that cannot be read; that is no error."""
    (tmp_path / "versions").mkdir()
    tmp_path.chmod(0)
    try:
        assert pyenv_folders(MINOR, {"PYENV_ROOT": str(tmp_path)}) == []
    finally:
        tmp_path.chmod(0o700)


def test_what_was_installed_into_an_interpreter_is_hidden(tmp_path: Path) -> None:
    """Each folder with packages is covered by an empty one, after the folder that it is in."""
    interpreter = installation(
        tmp_path,
        "lib/python3.11/site-packages",
        "lib/python3/dist-packages",
        "lib64/python3.11/site-packages",
        "share",
    )
    mounts = interpreter_mounts(interpreter, Path("/empty"))
    hidden = [mount.target for mount in mounts if mount.source == Path("/empty")]
    assert sorted(hidden) == [
        "/opt/python/lib/python3.11/site-packages",
        "/opt/python/lib/python3/dist-packages",
        "/opt/python/lib64/python3.11/site-packages",
    ]
    targets = [mount.target for mount in mounts]
    assert targets.index("/opt/python/lib") < targets.index(hidden[0])
    assert "/opt/python/bin/python3.11" in targets
    assert not any("share" in target for target in targets)
    assert not any(mount.writable for mount in mounts)


def test_a_link_to_a_library_folder_is_not_shown_twice(tmp_path: Path) -> None:
    """lib64 that points to lib adds nothing, so nothing can be seen through it."""
    interpreter = installation(tmp_path, "lib/python3.11/site-packages")
    (tmp_path / "lib64").symlink_to("lib")
    targets = [mount.target for mount in interpreter_mounts(interpreter, Path("/empty"))]
    assert not any(target.startswith("/opt/python/lib64") for target in targets)


def test_of_the_systems_prefix_only_pythons_part_is_shown() -> None:
    """An interpreter in /usr does not bring the rest of /usr along."""
    interpreter = Interpreter(
        version="3.11.9",
        prefix=Path("/usr"),
        executable=Path("/usr/bin/python3"),
        standard_library=(Path("/usr/bin"),),
        include=None,
        abi="x",
        shared_library=None,
        packages=Path("/usr/local/lib/python3.11/dist-packages"),
    )
    sources = {mount.source for mount in interpreter_mounts(interpreter, Path("/empty"))}
    assert Path("/usr/lib") not in sources
    assert Path("/usr/bin") in sources
    assert interpreter.packages_inside == "/opt/python/local/lib/python3.11/dist-packages"
