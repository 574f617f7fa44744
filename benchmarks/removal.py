"""Removes packages beside groundup, and wings inside it, from a copy of the sources, and checks what is left.

What is left imports; help works and answers a removed command with its sentence; ruff and import-linter pass; mypy
passes on the sources, and pytest collects the other tests. Without packages the demo works where an index is.

.ci/without-wing                   each package alone, all of them at once, and each wing
.ci/without-wing groundup_fleet    these packages or wings, each alone; `all`: all packages at once
.ci/without-wing all --tests tests/cli    only these tests, run in what is left; `tests`: all of them
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from groundup.extensions import EXTENSIONS

ROOT = Path(__file__).parents[1]
WINGS = {"viewer": ("src/groundup/viewer",)}
"""Parts of groundup itself that can be removed."""
BESIDE = {"groundup_bridges": ("src/groundup_verifiers",)}
"""What goes with a package: the name that verifiers knows."""
NOT_COPIED = frozenset({".git", ".venv", ".hypothesis", "site", "dist", "build"})
"""Of the checkout, besides caches."""
ONLY_COPY = """
import os, sys
copy = {copy!r}
sys.path[:] = [one for one in sys.path if one == copy or not os.path.isfile(one + "/groundup/cli/main.py")]
"""
"""An editable install puts the checkout on the path; then what was removed would be found there."""
IMPORT_ALL = """
import importlib, pkgutil, sys
failed = []
def load(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:  # an extra that is not installed is no fault of what was removed
        if (error.name or "").startswith("groundup"):
            failed.append(f"{name}: {error}")
for package in sys.argv[1:]:
    for module in pkgutil.walk_packages(getattr(load(package), "__path__", []), package + ".", lambda name: None):
        if ".oracles" not in module.name and not module.name.endswith("__main__"):
            load(module.name)
sys.exit("\\n".join(failed) or None)
"""


class Remainder:
    """A copy of the sources without some of them."""

    def __init__(self, folder: Path, removed: Sequence[str]) -> None:
        self.folder = folder
        folder.chmod(0o755)  # some tests become an ordinary user
        self.packages = [one for one in EXTENSIONS if one.name in removed]
        for place in ROOT.iterdir():
            if place.name in NOT_COPIED or place.name.endswith("_cache"):
                continue
            if place.is_dir():
                shutil.copytree(place, folder / place.name, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(place, folder / place.name)
        for name in removed:
            for place in WINGS.get(name, (f"src/{name}", f"tests/{name}", *BESIDE.get(name, ()))):
                _remove(folder / place)
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(ONLY_COPY.format(copy=str(folder / "src")))
        project = folder / "pyproject.toml"
        names = "|".join(removed)
        text = re.sub(rf'^    "(src/)?({names})",\n', "", project.read_text(), flags=re.MULTILINE)
        # Contracts about the package alone go with it.
        project.write_text(re.sub(rf'\[\[.+\]\]\nname = ".*\b(?:{names})\b.*"\n(?:.+\n)+', "", text))
        self.names = [path.parent.name for path in sorted((folder / "src").glob("*/__init__.py"))]

    def run(self, *program: str, expected: int | None = 0) -> str:
        """Run Python in the copy and return what it prints. Raises `SystemExit` where its exit code is another.

        *expected*: None for any.
        """
        paths = os.pathsep.join(str(self.folder / name) for name in ("site", "src", "."))
        done = subprocess.run(
            [sys.executable, *program],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if expected not in (None, done.returncode):
            raise SystemExit(f"{' '.join(program[:4])} ended with {done.returncode}:\n{done.stdout[-6000:]}")
        return done.stdout

    def test(self, places: Sequence[str]) -> str:
        """Run the tests in *places*; return what was skipped and failed, and the end."""
        there = [place for place in places if (self.folder / place).exists()]
        wanted = ("-q", "-n", "2", "-p", "no:cacheprovider", "-rfEs", "--tb=line")
        printed = self.run("-m", "pytest", *wanted, *there, expected=None)
        return printed.rpartition("short test summary")[2].strip()[-20_000:]

    def check(self) -> None:
        """Check all that the module promises. Raises `SystemExit`."""
        self.run("-c", IMPORT_ALL, *self.names)
        for arguments in (["--help"], ["help", "all"]):
            if "evaluate" not in self.run("-m", "groundup", *arguments):
                raise SystemExit(f"groundup {' '.join(arguments)} does not list evaluate")
        for package in self.packages:
            for command in package.commands:
                said = self.run("-m", "groundup", *command.split(), "--json", expected=2)
                if f"needs the package {package.name}" not in said:
                    raise SystemExit(f"groundup {command} does not name its package: {said}")
        if self.packages:
            self.run("-m", "ruff", "check", "--no-cache", "src", "tests")
            self.run("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache")
            # One package may use another by a late import; that groundup uses none is shown above.
            without = ("--disable-error-code", "import-not-found")
            self.run("-m", "mypy", "src", *without, "--cache-dir", str(ROOT / ".mypy_cache"))
            self.run("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests")
            if not os.environ.get("PIP_NO_INDEX"):
                self.run("-m", "groundup", "demo")


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()


def main() -> int:
    """Check without each named package or wing, by default without everything that can be removed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tests", nargs="+", help="run these in place of the checks")
    options = parser.parse_args()
    names: Sequence[str] = options.names
    packages = [one.name for one in EXTENSIONS if one.present()]
    known = [*packages, "all", *WINGS]
    for name in names:
        if name not in known:
            print(f"nothing that can be removed is called {name}; choose from {', '.join(known)}")
            return 2
    failed = False
    for name in names or known:
        with tempfile.TemporaryDirectory() as folder:
            left = Remainder(Path(folder), packages if name == "all" else [name])
            if options.tests:
                printed = left.test(options.tests)
                failed |= bool(re.search(r"\d (failed|error)", printed.splitlines()[-1]))
                print(f"without {name}: {printed}", flush=True)
                continue
            left.check()
        demo = ", and the demo works" if left.packages and not os.environ.get("PIP_NO_INDEX") else ""
        print(f"without {name}: the rest imports, help and checks pass{demo}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
