"""What the names of groups, files and folders say about the kind of the dependencies in them."""

import re
from collections.abc import Iterable

from groundup.manifests.records import Kind

_WORD = re.compile(r"[a-z0-9]+")
_DEV = frozenset({"dev", "devel", "develop", "development"})
_TEST = frozenset({"test", "tests", "testing", "unittest", "unittests", "pytest"})
_BESIDE = frozenset({
    "doc", "docs", "documentation", "sphinx", "mkdocs", "website", "example", "examples", "demo", "demos",
    "tutorial", "tutorials", "notebook", "notebooks", "fuzz", "fuzzer", "fuzzers", "fuzzing", "bench", "benches",
    "benchmark", "benchmarks", "benchmarking", "perf", "profiling", "lint", "linter", "linters", "linting", "ci",
    "devcontainer", "github", "circleci",
})  # fmt: skip
"""What stands beside a package: neither a part of it nor its tests."""


def group_kind(name: str, default: Kind = Kind.GROUP) -> Kind:
    """Return the kind that a group's or a file's *name* says: test, dev, or the default."""
    words = set(_WORD.findall(name.lower()))
    if words & _TEST:
        return Kind.TEST
    return Kind.DEV if words & _DEV else default


def place_kind(names: Iterable[str]) -> tuple[Kind, str]:
    """Return the kind that the first telling one of *names*, of a file and its folders, says, and that name.

    A package's own requirements stand at the root or in folders that say nothing.
    """
    for name in names:
        kind = group_kind(name, Kind.RUNTIME)
        if kind is Kind.RUNTIME and set(_WORD.findall(name.lower())) & _BESIDE:
            kind = Kind.GROUP
        if kind is not Kind.RUNTIME:
            return kind, name
    return Kind.RUNTIME, ""
