"""What the usual programs are called for: testing, checking, building, documenting, measuring, publishing.

Knows programs only. Names of a project's own (`make ci`, `npm test`) are followed by `project_commands` and `tox`.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from groundup.domain.records import Record
from groundup.workflows.commands import program_of


class Purpose(StrEnum):
    """What a command is for."""

    TEST = "test"
    CHECK = "check"
    """Style, types, spelling."""
    DOCS = "docs"
    MEASURE = "measure"
    BUILD = "build"
    PUBLISH = "publish"
    OWN = "own"
    """A program of the repository's own, which may do anything."""
    NOTHING = "nothing"
    """It is called as a test, and does nothing."""
    OTHER = "other"


class Meaning(Record):
    """What one command does."""

    purpose: Purpose
    command: str
    """The program that does it in the end, with its arguments."""
    via: tuple[str, ...] = ()
    """The project's own names that lead to it, outermost first."""
    certainty: float = 1.0
    part: str | None = None
    """Why it is not the whole test suite."""
    may_fail: bool = False
    """Whether nothing comes of it when it fails: `pytest || true`."""

    def under(self, name: str) -> "Meaning":
        """Return the same, called by one more name."""
        return self.but(via=(name, *self.via))


_PROGRAMS: Mapping[Purpose, frozenset[str]] = {
    Purpose.TEST: frozenset({
        "pytest", "py.test", "nosetests", "nose2", "stestr", "trial", "green", "ward", "testr", "zope-testrunner",
        "jest", "vitest", "mocha", "_mocha", "ava", "tap", "tape", "uvu", "karma", "jasmine", "lab", "borp",
        "qunit", "testem", "wtr", "web-test-runner", "bats", "ctest", "rspec", "phpunit", "behave", "robot",
        "molecule", "vstest.console", "xunit.console", "nunit3-console", "cargo-nextest", "cargo-tarpaulin",
        "stryker",
    }),
    Purpose.CHECK: frozenset({
        "flake8", "ruff", "black", "isort", "pylint", "pycodestyle", "pydocstyle", "pyflakes", "mypy", "pyright",
        "pytype", "basedpyright", "ty", "bandit", "pre-commit", "prek", "eslint", "prettier", "xo", "standard",
        "oxlint", "biome", "tsc", "vue-tsc", "tsd", "attw", "codespell", "typos", "yamllint", "doc8", "rstcheck",
        "check-manifest", "darker", "safety", "pip-audit", "vulture", "interrogate", "zizmor", "actionlint",
        "knip", "semgrep", "oxfmt", "publint",
    }),
    Purpose.DOCS: frozenset({"sphinx-build", "mkdocs", "typedoc", "towncrier", "jsdoc", "vitepress", "docfx"}),
    Purpose.MEASURE: frozenset({"asv", "pyperf", "codspeed", "hyperfine", "bencher"}),
    Purpose.BUILD: frozenset({
        "rollup", "webpack", "vite", "esbuild", "unbuild", "tsup", "obuild", "cmake", "msbuild", "cibuildwheel",
        "gulp", "babel", "pyproject-build",
    }),
    Purpose.PUBLISH: frozenset({"twine", "coveralls", "codecov", "gh", "semantic-release", "release-it"}),
}  # fmt: skip
_BY_PROGRAM = {name: purpose for purpose, names in _PROGRAMS.items() for name in names}
IN_BROWSER = "tests in a browser"
_E2E = frozenset({"playwright", "cypress", "puppeteer", "nightwatch", "detox"})
_PART = re.compile(
    r"integration|e2e|end.to.end|docker|browser|wasm|emscripten|smoke|downstream|notebook|selenium|benchmark|"
    r"remote|network|storages?_tests|visualization|_gpu|doc-?tests?\b",
    re.IGNORECASE,
)


def meaning_of(words: Sequence[str]) -> Meaning | None:
    """Return what a simple command does; None for a program that is not known."""
    program = program_of(words[0])
    line = " ".join(words)[:160]
    special = _SPECIAL.get(program)
    if special is not None:
        purpose = special(list(words[1:]))
    elif program in _E2E:
        purpose = Purpose.TEST if "test" in words or "run" in words else Purpose.OTHER
        return Meaning(purpose=purpose, command=line, part=IN_BROWSER)
    else:
        purpose = _BY_PROGRAM.get(program)
    if purpose is None:
        return None
    part = None
    if purpose in (Purpose.TEST, Purpose.MEASURE) and _only_lists(words):
        purpose = Purpose.NOTHING
    elif purpose is Purpose.TEST:
        part = _part_of(program, words[1:])
    return Meaning(purpose=purpose, command=line, part=part)


def _only_lists(words: Sequence[str]) -> bool:
    return not _LISTS.isdisjoint(words[1:]) or (words[1:2] == ["list"] and program_of(words[0]) in _WITH_LIST)


_LISTS = frozenset({
    "--no-run", "--collect-only", "--collectonly", "--co", "--list", "--version", "--help", "--dry-run",
    "--dryrun", "--listTests", "--list-tests", "--showConfig", "--setup-plan", "--fixtures", "--markers",
    "--clearCache",
})  # fmt: skip
"""Options with which runners name tests, or themselves, and run none."""
_WITH_LIST = frozenset({"vitest", "stestr", "cargo-nextest"})


_LEFT_OUT = frozenset({"--ignore", "--ignore-glob", "--deselect", "--exclude", "--skip", "--omit"})


_ONE_FILE = re.compile(r"/test_\w+\.py(?:::\S+)?$")
"""One of several files, as its place in a folder shows: `tests/test_slurm.py`, but not `test_all.py`."""


def _part_of(program: str, words: Sequence[str]) -> str | None:
    """Return why a test command runs only a part of the tests; None where its words do not show it."""
    if program == "cargo" and "--doc" in words:
        return "only tests in documentation"
    if program == "cargo" and ("miri" in words or any("wasm" in word for word in words)):
        return "another target"
    if program == "cargo" and "--no-default-features" in words:
        return "without the default features"
    modules = 1 if program == "python" and "-m" in words else 0
    for at, word in enumerate(words[:-1]):
        chosen = words[at + 1]
        if word not in ("-k", "-m") or program == "cargo" or chosen.startswith("not ") or " " in chosen:
            continue
        if word == "-m" and modules:  # `python -m module`
            modules = 0
            continue
        return f"only {word} {chosen}"
    named = [word for at, word in enumerate(words) if at == 0 or words[at - 1] not in _LEFT_OUT]
    one_file = next((word for word in named if _ONE_FILE.search(word)), None)
    if one_file is not None and (program in ("pytest", "py.test") or words[:2] == ["-m", "pytest"]):
        return f"only {one_file}"
    return next((f"only {word}" for word in named if not word.startswith("-") and _PART.search(word)), None)


_CARGO_VALUES = frozenset({"--config", "--manifest-path", "--color", "--target-dir", "-Z", "-C", "--toolchain"})


def _cargo(words: list[str]) -> Purpose:
    rest = [
        word
        for at, word in enumerate(words)
        if not word.startswith(("-", "+")) and (at == 0 or words[at - 1] not in _CARGO_VALUES)
    ]
    verb = rest[0] if rest else ""
    if verb in ("hack", "all-features", "careful", "component", "with") and len(rest) > 1:
        verb = "test" if "test" in rest else rest[1]
    if verb == "xtask" and len(rest) > 1:
        verb = "test" if rest[1] in ("test", "ci", "tests") else "build"
    if verb == "miri":
        verb = "test" if "test" in rest or "nextest" in rest else "check"
    return {
        "test": Purpose.TEST, "t": Purpose.TEST, "nextest": Purpose.TEST, "llvm-cov": Purpose.TEST,
        "tarpaulin": Purpose.TEST, "insta": Purpose.TEST, "clippy": Purpose.CHECK, "fmt": Purpose.CHECK,
        "deny": Purpose.CHECK, "audit": Purpose.CHECK, "outdated": Purpose.CHECK, "doc": Purpose.DOCS,
        "docs-rs": Purpose.DOCS, "bench": Purpose.MEASURE, "publish": Purpose.PUBLISH,
    }.get(verb, Purpose.BUILD)  # fmt: skip


def _cake(words: list[str]) -> Purpose | None:
    return Purpose.TEST if any(re.search(r"test", word, re.IGNORECASE) for word in words) else None


def _dotnet(words: list[str]) -> Purpose | None:
    verb = next((word.lower() for word in words if not word.startswith("-")), "")
    if verb in ("test", "vstest", "coverage", "dotcover", "xunit"):
        return Purpose.TEST
    if verb == "run" and any(re.search(r"tests?\b", word, re.IGNORECASE) for word in words):
        return Purpose.TEST
    if verb in ("format", "jb"):
        return Purpose.CHECK
    if verb in (
        "build",
        "publish",
        "pack",
        "restore",
        "tool",
        "workload",
        "msbuild",
        "clean",
        "run",
        "add",
        "new",
    ):
        return Purpose.BUILD
    if verb in ("nuget", "sign"):
        return Purpose.PUBLISH
    return _cake(words)


def _python(words: list[str]) -> Purpose | None:
    """Return what `python ...` does; None for a script of the project."""
    for at, word in enumerate(words):
        if word == "-m" and at + 1 < len(words):
            return _python_module(words[at + 1], words[at + 2 :])
        if word == "-c":
            return Purpose.OTHER
        if not word.startswith("-") and (at == 0 or words[at - 1] not in ("-W", "-X")):
            break
    script = next((word for word in words if word.endswith(".py")), "")
    name = script.rpartition("/")[2]
    if name == "setup.py":
        return Purpose.TEST if {"test", "pytest", "nosetests"} & set(words) else Purpose.BUILD
    if name == "manage.py":
        return Purpose.TEST if "test" in words else Purpose.OTHER
    if re.fullmatch(r"(run_?|all)?tests?\.py|test_\w+\.py|\w+_tests?\.py", name):
        return Purpose.TEST
    return None


def _python_module(module: str, words: list[str]) -> Purpose | None:
    if module in ("unittest", "doctest", "test", "xmlrunner", "twisted.trial", "testtools.run", "subunit.run"):
        return Purpose.TEST
    if module in ("pip", "ensurepip", "venv", "virtualenv", "pipx", "compileall"):
        return Purpose.BUILD
    if module == "build":
        return Purpose.BUILD
    if module == "sphinx":
        return Purpose.DOCS
    if module == "django":
        return Purpose.TEST if "test" in words else Purpose.OTHER
    if re.fullmatch(r"(\w+\.)*tests?(\.\w+)*", module):
        return Purpose.TEST
    return _BY_PROGRAM.get(module)


def _node(words: list[str]) -> Purpose | None:
    if "--test" in words:
        return Purpose.TEST
    if {"-e", "--eval", "-p"} & set(words[:1]):
        return Purpose.OTHER
    if {"-c", "--check"} & set(words[:1]):
        return Purpose.CHECK
    script = next((word for word in words if not word.startswith("-")), "")
    name = script.rpartition("/")[2]
    return Purpose.TEST if re.fullmatch(r"(run-?)?tests?(\.[cm]?[jt]s)?|.*[.-]tests?\.[cm]?[jt]s", name) else None


def _go(words: list[str]) -> Purpose:
    return Purpose.TEST if "test" in words else Purpose.BUILD


def _java(words: list[str]) -> Purpose:
    """Return what Maven or Gradle do: all of their goals that come after testing test, too."""
    goals = {word.rpartition(":")[2] for word in words if not word.startswith("-")}
    excluded = {word.rpartition(":")[2] for before, word in itertools.pairwise(words) if before == "-x"}
    skips = any(re.fullmatch(r"-D(?:skipTests|maven\.test\.skip)(?:=true)?", word) for word in words)
    tests = (goals - excluded) & {"test", "package", "verify", "install", "deploy", "check", "build"}
    return Purpose.TEST if tests and not skips and "test" not in excluded else Purpose.BUILD


def _bun(words: list[str]) -> Purpose | None:
    return Purpose.TEST if words[:1] == ["test"] else Purpose.BUILD if words[:1] in (["install"], ["i"]) else None


def _deno(words: list[str]) -> Purpose:
    return Purpose.TEST if "test" in words else Purpose.OTHER


def _hatch(words: list[str]) -> Purpose | None:
    if "run" in words:
        return None
    return Purpose.TEST if "test" in [word for word in words if not word.startswith("-")][:1] else Purpose.BUILD


def _wasm_pack(words: list[str]) -> Purpose:
    return Purpose.TEST if words[:1] == ["test"] else Purpose.BUILD


_SPECIAL: Mapping[str, Callable[[list[str]], Purpose | None]] = {
    "cargo": _cargo,
    "cross": _cargo,
    "dotnet": _dotnet,
    "dotnet-cake": _cake,
    "cake": _cake,
    "nuke": _cake,
    "python": _python,
    "node": _node,
    "go": _go,
    "mvn": _java,
    "mvnw": _java,
    "gradle": _java,
    "gradlew": _java,
    "bun": _bun,
    "wasm-pack": _wasm_pack,
    "deno": _deno,
    "hatch": _hatch,
}
