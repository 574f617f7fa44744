"""Which interpreter a job's steps get, and what of it they may change."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.domain.errors import InfrastructureError
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import (
    ENVIRONMENT_TARGET,
    PYTHON_TARGET,
    AnySource,
    Layer,
    PythonEnvironment,
    PythonRequest,
)
from groundup.grading.ci.step_pythons import installed_python, step_python
from groundup.registries.pypi.poetry import POETRY_PLUGIN
from groundup.sandbox.protocol import Mount
from tests.grading.library.laboratory import write_tree

_CACHE = "/opt/hostedtoolcache/Python/3.9.5/x64"


class Interpreters(EnvironmentBuilder):
    """Has the interpreters of some minor versions, all with the layer in *folder* and these *mounts*."""

    def __init__(self, minors: tuple[str, ...], folder: Path, *mounts: Mount, trouble: str = "") -> None:
        self.asked: list[PythonRequest] = []
        self._minors, self._folder, self._mounts, self._trouble = minors, folder, mounts, trouble

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the interpreter, if it is one of those that are here."""
        self.asked.append(request)
        if request.python not in self._minors:
            raise InfrastructureError(
                self._trouble or f"Python {request.python} is not on this machine; install it"
            )
        return PythonEnvironment(
            layer=Layer(digest="sha256:0", kind="python", path=self._folder),
            mounts=(*self._mounts, Mount(source=self._folder, target=ENVIRONMENT_TARGET)),
            path=(),
            python_version=f"{request.python}.5",
            environment={"LD_LIBRARY_PATH": f"{PYTHON_TARGET}/lib"},
        )

    @override
    async def source(self, request: AnySource) -> Layer:
        """Refuse."""
        raise NotImplementedError

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}


@pytest.mark.parametrize(
    ("here", "wanted", "asked"),
    [
        (("3.9", "3.10"), ("3.10", "3.9"), ["3.10"]),
        (("3.9",), ("3.10", "3.9"), ["3.10", "3.9"]),
        (("3.7", "3.13"), ("3.10",), ["3.10", "3.11", "3.12", "3.13"]),
        (("3.7", "3.8"), ("3.10",), ["3.10", "3.11", "3.12", "3.13", "3.14", "3.9", "3.8"]),
    ],
)
async def test_the_first_that_fits_or_the_nearest(
    tmp_path: Path, here: tuple[str, ...], wanted: tuple[str, ...], asked: list[str]
) -> None:
    """In the order that the job gives; then newer ones, the nearest first; then older ones. All have pip."""
    builder = Interpreters(here, tmp_path)
    found = await installed_python(wanted, builder)
    assert found.python_version == f"{asked[-1]}.5"
    assert builder.asked == [PythonRequest(python=minor, with_pip=True) for minor in asked]


async def test_without_any_interpreter_the_machine_is_to_blame(tmp_path: Path) -> None:
    """What to do is said; another trouble, such as a full disk, is told as it is and at once."""
    with pytest.raises(InfrastructureError, match=r"^no Python from 3\.7 to 3\.14 was found; install one$"):
        await installed_python(("3.10",), Interpreters((), tmp_path))
    broken = Interpreters((), tmp_path, trouble="the disk is full")
    with pytest.raises(InfrastructureError, match=r"^the disk is full$"):
        await installed_python(("3.10", "3.9"), broken)
    assert len(broken.asked) == 1


async def test_an_interpreter_without_packages_of_its_own_is_lent_as_a_virtual_environment(tmp_path: Path) -> None:
    """Steps get a copy to write in, with Poetry's plugin; the layer stays as it was. The copy stays."""
    layer = write_tree(tmp_path / "layer", {"lib/python3.9/site-packages/pip/a.py": "", "bin/pip": "run"})
    for folder in ("lib/python3.9/site-packages/pip", "bin", "."):
        (layer / folder).chmod(0o555)
    base = Mount(source=tmp_path, target=PYTHON_TARGET)
    builder = Interpreters(("3.9",), layer, base)

    found = await step_python("3.9", ("3.9",), builder, tmp_path / "scratch")

    copy = tmp_path / "scratch/python-3.9.5"
    assert found.mounts == (base, Mount(source=copy, target=ENVIRONMENT_TARGET, writable=True))
    assert (found.asked, found.version, found.folder) == ("3.9", "3.9.5", ENVIRONMENT_TARGET)
    assert found.environment == {"LD_LIBRARY_PATH": f"{PYTHON_TARGET}/lib"}
    assert found.substitute is None
    packages = copy / "lib/python3.9/site-packages"
    assert {str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()} == {
        "pip/a.py",
        *POETRY_PLUGIN,
    }
    assert {path.stat().st_mode & 0o777 for path in (copy, copy / "bin", packages / "pip")} == {0o755}
    assert [path.name for path in (layer / "lib/python3.9/site-packages").iterdir()] == ["pip"]
    (copy / "installed").touch()
    assert (await step_python("3.9", ("3.9",), builder, tmp_path / "scratch")).mounts == found.mounts
    assert (copy / "installed").exists()


async def test_an_interpreter_with_packages_of_its_own_stands_where_a_runner_has_it(tmp_path: Path) -> None:
    """Its files are read-only, `bin` and `site-packages` may be changed; its older setuptools come with it.

    Scripts of pip name the interpreter by its new place; the nearest one is reported where none fits.
    """
    layer = write_tree(
        tmp_path / "layer",
        {
            "lib/python3.9/site-packages/pip/a.py": "",
            "lib/python3.9/site-packages/_virtualenv.py": "",
            "bin/pip3": f"#!{ENVIRONMENT_TARGET}/bin/python\n",
            "bin/activate": "",
        },
    )
    base = write_tree(tmp_path / "base", {"bin/python3.9": "", "lib/python3.9/ensurepip/_bundled/other.txt": ""})
    with zipfile.ZipFile(base / "lib/python3.9/ensurepip/_bundled/setuptools-58-py3.whl", "w") as wheel:
        wheel.writestr("setuptools/__init__.py", "")
    program = Mount(source=base / "bin/python3.9", target=f"{PYTHON_TARGET}/bin/python3.9")
    library = Mount(source=base / "lib", target=f"{PYTHON_TARGET}/lib")
    hidden = Mount(source=tmp_path, target=f"{PYTHON_TARGET}/lib/python3.9/site-packages")
    certificates = Mount(source=tmp_path, target="/etc/ssl")
    builder = Interpreters(("3.9",), layer, program, library, hidden, certificates)

    found = await step_python("3.8", ("3.8",), builder, tmp_path / "scratch")

    copy = tmp_path / "scratch/python-3.9.5"
    assert found.mounts == (
        Mount(source=copy / "prefix", target=_CACHE, writable=True),
        Mount(source=base / "lib", target=f"{_CACHE}/lib"),
        certificates,
        Mount(source=base / "bin/python3.9", target=f"{_CACHE}/bin/python3.9"),
        Mount(source=copy / "packages", target=f"{_CACHE}/lib/python3.9/site-packages", writable=True),
    )
    assert (found.asked, found.version, found.folder) == ("3.8", "3.9.5", _CACHE)
    assert found.environment == {"LD_LIBRARY_PATH": f"{_CACHE}/lib"}
    assert found.substitute == "Python 3.9.5 for 3.8"
    packages, programs = copy / "packages", copy / "prefix/bin"
    assert {path.name for path in packages.iterdir()} == {
        "pip",
        "setuptools",
        *(Path(name).parts[0] for name in POETRY_PLUGIN),
    }
    assert {path.name: path.is_symlink() for path in programs.iterdir()} == {
        "python": True,
        "python3": True,
        "python3.9": False,
        "pip3": False,
    }
    assert {str((programs / name).readlink()) for name in ("python", "python3")} == {"python3.9"}
    assert (programs / "pip3").read_text() == f"#!{_CACHE}/bin/python\n"
    assert {(programs / name).stat().st_mode & 0o777 for name in ("pip3", "python3.9")} == {0o755}
    assert (await step_python("3.8", ("3.8",), builder, tmp_path / "scratch")).mounts == found.mounts
