"""Makes the bytecode of modules that names lead to; runs in a build sandbox, on an environment's Python.

Most modules of a submission's environment are never imported, and to compile them all takes longer than to install
them. Follows what code imports, and whatever else has a module's name: too much costs time, and a module that is
missed is compiled again by each process that imports it. Runs nothing of the environment.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType


def modules_in(library: str) -> dict[str, str]:
    """Return the path of each module below *library* by its dotted name; a package's is its `__init__.py`."""
    found = {}
    for folder, below, files in os.walk(library):
        below[:] = filter(str.isidentifier, below)
        package = os.path.relpath(folder, library).replace(os.sep, ".").strip(".")
        for file in files:
            stem, dot, ending = file.rpartition(".")
            if dot and ending == "py":
                name = ".".join(part for part in (package, stem) if part and part != "__init__")
                found[name] = os.path.join(folder, file)  # noqa: PTH118 - there are tens of thousands
    return found


class CompiledModules:
    """The modules of one folder of packages that were reached so far, their bytecode made."""

    def __init__(self, library: str) -> None:
        self._modules = modules_in(library)
        self._children: dict[str, list[str]] = {}
        for name in self._modules:
            self._children.setdefault(name.rpartition(".")[0], []).append(name)
        self._reached: set[str] = set()
        self._waiting: list[str] = []

    def begin(self, name: str) -> None:
        """Reach the module *name*; of a package also the modules right below, which others may ask for by name."""
        self._want(name)
        if name in self._modules:
            for child in self._children.get(name, ()):
                self._want(child)

    def follow(self) -> int:
        """Compile what was reached, and what that leads to; return how many modules it was."""
        while self._waiting:
            name = self._waiting.pop()
            try:
                code = SourceFileLoader(name, self._modules[name]).get_code(name)
            except Exception:  # noqa: BLE001, S112 - not this Python's language, or no Python at all
                continue
            if code is not None:
                self._read(name, code)
        return len(self._reached)

    def _want(self, name: str) -> None:
        for one in _with_parents(name):
            if one in self._modules and one not in self._reached:
                self._reached.add(one)
                self._waiting.append(one)

    def _read(self, name: str, code: CodeType) -> None:
        package = name if name in self._children else name.rpartition(".")[0]
        around = list(_with_parents(package))
        own = name.partition(".")[0] + "."
        codes = [code]
        for one in codes:  # which grows
            for constant in one.co_consts:
                if isinstance(constant, CodeType):
                    codes.append(constant)
                elif isinstance(constant, str) and len(constant) < 100 and constant.startswith(own):
                    self._want(constant.partition(":")[0])  # what it imports by a name of its own
            said = (whole for part in one.co_names for whole in (part, *(f"{above}.{part}" for above in around)))
            for module in {package, *(whole for whole in said if whole in self._modules)}:
                self._want(module)
                for part in one.co_names if module in self._children else ():
                    if f"{module}.{part}" in self._modules:
                        self._want(f"{module}.{part}")


def _with_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def pytest_plugins(library: str) -> Iterator[str]:
    """Yield the modules that pytest imports whenever it starts."""
    yield "_pytest"
    for path in Path(library).glob("*.dist-info/entry_points.txt"):
        parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section("pytest11"):
            yield from (value.partition(":")[0].strip() for _, value in parser.items("pytest11"))


def compile_reached(library: str, names: Iterable[str]) -> int:
    """Make the bytecode of what *names*, and pytest, lead to in *library*; return how many modules it was.

    But not of what pip might want to import, which was compiled with its own modules.
    """
    reach = CompiledModules(library)
    for name in {*names, "pytest", *pytest_plugins(library)} - {"pip"}:
        reach.begin(name)
    return reach.follow()


if __name__ == "__main__":
    prefix, file = sys.argv[1:]
    packages = f"{prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    print("compiled", compile_reached(packages, Path(file).read_text(encoding="utf-8").split()), "modules")
