"""What a cheat is, and what a cheater starts from: a library that is half broken, and a suite that is public."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Files = Mapping[str, str]
"""Contents by path."""
Target = Literal["library", "service", "java", "ci"]


@dataclass(frozen=True)
class Base:
    """A library that passes some of its hidden tests honestly, and what a cheater may know of them."""

    package: str
    init: str
    """The file that is imported first."""
    broken: Files
    tests: Files
    """The published suite, by path in the tested tree: a cheater may have memorised it."""
    original: Files = field(default_factory=dict)

    def with_code(self, code: str, files: Files | None = None, *, late: bool = False) -> dict[str, str]:
        """Return the library with *code* at the start of its first file, or at the end of it when *late*."""
        text = self.broken[self.init]
        if late:
            text = f"{text}\n\n{code}\n"
        else:
            at = _after_future_imports(text)
            lines = text.splitlines(keepends=True)
            text = "".join([*lines[:at], f"\n{code}\n", *lines[at:]])
        return {**self.broken, self.init: text, **(files or {})}

    def test_names(self) -> list[str]:
        """Return the names of the public test functions."""
        names = {
            node.name
            for text in self.tests.values()
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        }
        return sorted(names)


def _after_future_imports(text: str) -> int:
    """Return the number of the line after the docstring and the imports from the future."""
    at = 0
    for number, node in enumerate(ast.parse(text).body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        at = node.end_lineno or at
    return at


Maker = Callable[[Base], dict[str, str]]
"""Makes a submission."""


@dataclass(frozen=True)
class Cheat:
    """A dishonest submission to a library task."""

    name: str
    family: str
    tries: str
    """One sentence: how it wants to get points."""
    make: Maker
    memorises: bool = False
    """Whether it needs the whole public suite by heart: then only inputs that are not public can decide."""


def written(codes: Mapping[tuple[str, str, str], str], before: str = "") -> tuple[Cheat, ...]:
    """Return cheats that put code into the library, by name, family and what each tries; *before*: what all use."""

    def maker(code: str) -> Maker:
        return lambda base: base.with_code(before + code)

    return tuple(Cheat(*words, maker(code)) for words, code in codes.items())


@dataclass(frozen=True)
class Dishonest:
    """A dishonest submission to another kind of task, with what an honest reading of it is worth."""

    name: str
    family: str
    target: Target
    tries: str
    files: Files
    deserves: int
    """Tests (services, Java) or points (CI jobs)."""
    measure: str = "score"
    """Which of a verdict's scores it wants to raise."""
    memorises: bool = False
    base: str = ""
    """Which task, where there are several."""
