"""The pip that is uv: what it leaves out, which file it takes, and where it puts itself."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from groundup.inside import stand_in_pip
from groundup.inside.stand_in_pip import _fitness, _without_noise, install

MINOR = sys.version_info[1]
MACHINE = sysconfig.get_platform().rpartition("-")[2]


@pytest.mark.parametrize(
    ("name", "fitness"),
    [
        ("my-pkg-1.0.tar.gz", 1),
        ("My.Pkg-1.0.zip", 1),
        ("my_pkg-1.1.tar.gz", 0),
        ("my_pkg-1.0-py3-none-any.whl", 2),
        ("my_pkg-1.0-py2.py3-none-any.whl", 2),
        ("my_pkg-1.0-1-py3-none-any.whl", 2),
        ("my_pkg-1.0-py2-none-any.whl", 0),
        ("my_pkg-1.1-py3-none-any.whl", 0),
        ("other-1.0-py3-none-any.whl", 0),
        (f"my_pkg-1.0-py3-none-manylinux1_{MACHINE}.manylinux_2_17_{MACHINE}.whl", 3),
        ("my_pkg-1.0-py3-none-win_amd64.whl", 0),
        ("my_pkg-1.0-py3-none-manylinux_2_17_mips.whl", 0),
        (f"my_pkg-1.0-cp32-abi3-linux_{MACHINE}.whl", 4),
        (f"my_pkg-1.0-cp3{MINOR}-abi3-linux_{MACHINE}.whl", 4),
        (f"my_pkg-1.0-cp3{MINOR + 1}-abi3-linux_{MACHINE}.whl", 0),
        (f"my_pkg-1.0-cp3{MINOR}-cp3{MINOR}-linux_{MACHINE}.whl", 5),
        (f"my_pkg-1.0-cp3{MINOR}-cp3{MINOR}m-linux_{MACHINE}.whl", 5),
        (f"my_pkg-1.0-cp3{MINOR - 1}-cp3{MINOR - 1}-linux_{MACHINE}.whl", 0),
        ("my_pkg-1.0-py3.whl", 0),
        ("my_pkg-1.0.egg", 0),
    ],
)
def test_the_file_that_fits_best_is_taken(name: str, fitness: int) -> None:
    """Compiled for this interpreter, for a later one, for this machine, for all; a source distribution at last."""
    assert _fitness(name, "My.pkg", "1.0") == fitness


def test_what_uv_does_not_know_is_left_out() -> None:
    """Options with and without a value, in either form; nothing else."""
    argv = ["install", "--no-input", "--timeout", "5", "--retries=3", "-y", "six", "--pre", "-r", "x.txt", "--log"]
    assert _without_noise(argv) == ["install", "six", "--pre", "-r", "x.txt"]


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that says how uv was called; it compiles to two pinned lines."""
    program, log = tmp_path / "uv", tmp_path / "log"
    program.write_text(
        f'#!/bin/sh\necho "$UV_LINK_MODE $*" >> {log}\n'
        'case "$1" in --version) echo "uv 1.2.3";; esac\n'
        'case "$2" in compile) cat > /dev/null; printf "six==1.0 ; x\\nplain\\n";; uninstall) exit 2;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(stand_in_pip, "UV", str(program))
    monkeypatch.setenv("UV_LINK_MODE", "copy")
    return log


def test_commands_are_uvs(uv: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With this interpreter, wherever the command stands; its exit code is uv's, and others are not offered."""
    assert stand_in_pip.main(["--no-color", "install", "six"]) == 0
    assert stand_in_pip.main(["uninstall", "-y", "six"]) == 2
    assert uv.read_text().splitlines() == [
        f"copy pip install --python {sys.executable} six",
        f"copy pip uninstall --python {sys.executable} six",
    ]
    assert (stand_in_pip.main(["--version"]), stand_in_pip.main([]), stand_in_pip.main(["search"])) == (0, 0, 1)
    said = capfd.readouterr().out.splitlines()
    assert said[0].startswith("pip by uv 1.2.3 from ")
    assert said[2].startswith("pip search is not offered here; there are install, ")


def test_what_is_downloaded_is_what_uv_chose(
    uv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The file of its version that fits best, in the folder that was named; nothing that fits is an error."""
    links = [f'<a href="{name}#sha256=0">{name}</a>' for name in ("six-1.0.tar.gz", "six-1.0-py3-none-any.whl")]
    answers = {
        "http://index/six/": "\n".join(links).encode(),
        "http://index/six/six-1.0-py3-none-any.whl": b"wheel",
    }

    class Answer:
        def __init__(self, address: str) -> None:
            self._data = answers[address]

        def __enter__(self) -> "Answer":
            return self

        def __exit__(self, *_: object) -> None: ...

        def read(self) -> bytes:
            return self._data

    monkeypatch.setattr(
        "urllib.request.urlopen", lambda asked: Answer(asked if isinstance(asked, str) else asked.full_url)
    )
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://index/")
    (tmp_path / "wanted.txt").write_text("six\n")
    asked = ["download", "-d", str(tmp_path / "out"), "-r", str(tmp_path / "wanted.txt"), "--pre", "-c", "c.txt"]
    assert stand_in_pip.main(asked) == 0
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "six-1.0-py3-none-any.whl": "wheel"
    }
    assert uv.read_text().rstrip().endswith(f"--python {sys.executable} --pre -c c.txt")
    answers["http://index/six/"] = links[0].replace("1.0", "1.1").encode()
    assert stand_in_pip.main(["download", "six"]) == 1
    assert "no file of six 1.0 fits this Python" in capfd.readouterr().out


def test_it_puts_itself_where_pip_would_be(tmp_path: Path) -> None:
    """As a package, and as both programs, which the interpreter of the environment runs."""
    packages, scripts = tmp_path / "packages", tmp_path / "bin"
    install(packages, scripts, sys.executable)
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    for name in ("pip", "pip3"):
        done = subprocess.run([scripts / name, "help"], env=environment, capture_output=True, check=True)
        assert done.stdout.startswith(b"pip help is not offered here; there are install, ")
