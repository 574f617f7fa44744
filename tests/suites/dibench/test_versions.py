"""Constraints of four languages against lists of versions."""

import pytest

from groundup.manifests.records import Dependency, Language
from groundup.suites.dibench.registry_check import satisfiable
from groundup.suites.dibench.same_values import constraint_key

VERSIONS = ["0.2.3", "1.0.0", "1.2.3", "1.4.0", "2.0.0-beta.1"]


@pytest.mark.parametrize(
    ("language", "constraint", "answer"),
    [
        ("python", "", True),
        ("python", ">=1.2,<2", True),
        ("python", "==1.3.*", False),
        ("python", "^1.3", True),
        ("python", "~1.3", False),
        ("python", "nonsense", None),
        ("rust", "1", True),
        ("rust", "0.2.4", False),
        ("rust", "0.2", True),
        ("rust", "^0.3", False),
        ("rust", "=1.2.3", True),
        ("rust", ">=1.3, <1.4", False),
        ("rust", "~1.2", True),
        ("rust", "1.*", True),
        ("rust", "2", False),
        ("rust", "2.0.0-beta.1", True),
        ("javascript", "^1.3.0", True),
        ("javascript", "~1.3.0", False),
        ("javascript", "1.2.3", True),
        ("javascript", "1.2.4", False),
        ("javascript", "1.x || >=5", True),
        ("javascript", "3.x || >=5", False),
        ("javascript", "1.1.0 - 1.3", True),
        ("javascript", ">= 1.2.3 < 1.3", True),
        ("javascript", "*", True),
        ("javascript", "latest", None),
        ("csharp", "1.1", True),
        ("csharp", "3.0", False),
        ("csharp", "[1.2.3]", True),
        ("csharp", "[1.3.0]", False),
        ("csharp", "(1.4.0,2.0)", False),
        ("csharp", "[1.4,)", True),
        ("csharp", "(,1.0)", True),
        ("csharp", "1.*", True),
        ("csharp", "$(Version)", None),
    ],
)
def test_constraints(language: Language, constraint: str, answer: bool | None) -> None:
    """Yes, no, or: that cannot be said from the constraint."""
    assert satisfiable(language, constraint, VERSIONS) is answer


def test_nothing_satisfies_without_versions() -> None:
    """A package whose releases are all gone cannot be installed in any version."""
    assert satisfiable("rust", "1", []) is False


@pytest.mark.parametrize("language", ["python", "rust", "javascript", "csharp"])
def test_numbers_of_any_length_are_judged(language: Language) -> None:
    """A prediction that has one lacks a version, and takes its grader down in no way."""
    number = "1" * 5000
    constraint = f"=={number}" if language == "python" else number
    assert satisfiable(language, constraint, VERSIONS) is None
    assert number in constraint_key(Dependency(language=language, name="a", normalised="a", constraint=constraint))


EACH = (
    "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0-rc.1 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0-alpha.2 1.3.0-alpha.10 1.3.0 2.0.0 10.0.0"
)
FITTING: list[tuple[Language, str, str]] = [
    ("rust", "0.0.3", "0.0.3"),
    ("rust", "0.2", "0.2.3"),
    ("rust", "0", "0.0.3 0.0.4 0.2.3 0.3.0"),
    ("rust", "1", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", "1.2", "1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", "1.2.3", "1.2.3 1.2.3.4 1.3.0"),
    ("rust", "^1.2.3", "1.2.3 1.2.3.4 1.3.0"),
    ("rust", "^0.0.3", "0.0.3"),
    ("rust", "~1", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", "~1.2", "1.2.2 1.2.3 1.2.3.4"),
    ("rust", "~1.2.3", "1.2.3 1.2.3.4"),
    ("rust", "=1.2", "1.2.2 1.2.3 1.2.3.4"),
    ("rust", "=1.2.3", "1.2.3"),
    ("rust", ">1", "2.0.0 10.0.0"),
    ("rust", ">1.2.3", "1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("rust", ">=1.2", "1.2.2 1.2.3 1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("rust", "<1.2", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0"),
    ("rust", "<1.2.3", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2"),
    ("rust", "<=1", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", "<=1.2.3", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2 1.2.3"),
    ("rust", "1.*", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", "1.2.*", "1.2.2 1.2.3 1.2.3.4"),
    ("rust", "*, <2", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("rust", ">=1.3.0-alpha.10, <2", "1.3.0-alpha.10 1.3.0"),
    ("rust", "=1.3.0-alpha.2", "1.3.0-alpha.2"),
    ("rust", "<1.0.0-rc.1", "0.0.3 0.0.4 0.2.3 0.3.0"),
    ("rust", "v1.2.3", "1.2.3 1.2.3.4 1.3.0"),
    ("rust", "1.2.3+build", "1.2.3 1.2.3.4 1.3.0"),
    ("javascript", "0.2.3", "0.2.3"),
    ("javascript", "^0.2.3", "0.2.3"),
    ("javascript", "^0.0.3", "0.0.3"),
    ("javascript", "~0", "0.0.3 0.0.4 0.2.3 0.3.0"),
    ("javascript", "1", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("javascript", "1.2", "1.2.2 1.2.3 1.2.3.4"),
    ("javascript", "=1.2", "1.2.2 1.2.3 1.2.3.4"),
    ("javascript", "1.x", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0"),
    ("javascript", "1.2.X", "1.2.2 1.2.3 1.2.3.4"),
    ("javascript", "x", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("javascript", "^1 <1.3", "1.0.0 1.2.2 1.2.3 1.2.3.4"),
    ("javascript", "> 1.2 || <0.2", "0.0.3 0.0.4 1.3.0 2.0.0 10.0.0"),
    ("javascript", ">1.2.3 <=2", "1.2.3.4 1.3.0 2.0.0"),
    ("javascript", "~> 1.2", "1.2.2 1.2.3 1.2.3.4"),
    ("javascript", "1.2.3 - 2", "1.2.3 1.2.3.4 1.3.0 2.0.0"),
    ("javascript", "1.2 - 1.2.2", "1.2.2"),
    ("javascript", "^1.3.0-alpha.10", "1.3.0-alpha.10 1.3.0"),
    ("javascript", ">=1.3.0-alpha.2 <1.3.0", "1.3.0-alpha.2 1.3.0-alpha.10"),
    ("javascript", "10 || 0.3.0", "0.3.0 10.0.0"),
    ("javascript", "1.2.3 - 1.3.0-alpha.2", "1.2.3 1.2.3.4 1.3.0-alpha.2"),
    ("javascript", "1 - 1.2", "1.0.0 1.2.2 1.2.3 1.2.3.4"),
    ("csharp", "1.2.3", "1.2.3 1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("csharp", "1.*", "1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("csharp", "1.3.0-*", "1.3.0-alpha.2 1.3.0-alpha.10 1.3.0 2.0.0 10.0.0"),
    ("csharp", "[1.2.3]", "1.2.3"),
    ("csharp", "[1.2.3,1.3.0]", "1.2.3 1.2.3.4 1.3.0"),
    ("csharp", "(1.2.3,1.3.0)", "1.2.3.4"),
    ("csharp", "[1.2.3,1.3.0)", "1.2.3 1.2.3.4"),
    ("csharp", "(1.2.3,1.3.0]", "1.2.3.4 1.3.0"),
    ("csharp", "(,1.2.2]", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2"),
    ("csharp", "(,0.2.3)", "0.0.3 0.0.4"),
    ("csharp", "[2.0.0,)", "2.0.0 10.0.0"),
    ("csharp", "(2.0.0,)", "10.0.0"),
    ("csharp", "[,]", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0 2.0.0 10.0.0"),
    ("csharp", "[1.0.0-rc.1,1.0.0)", "1.0.0-rc.1"),
    ("csharp", "1.*-*", "1.0.0-rc.1 1.0.0 1.2.2 1.2.3 1.2.3.4 1.3.0-alpha.2 1.3.0-alpha.10 1.3.0 2.0.0 10.0.0"),
    ("csharp", "1.3.0-alpha*", "1.3.0-alpha.2 1.3.0-alpha.10 1.3.0 2.0.0 10.0.0"),
    ("csharp", "1.3.0-*", "1.3.0-alpha.2 1.3.0-alpha.10 1.3.0 2.0.0 10.0.0"),
    ("python", "==1.2.3", "1.2.3"),
    ("python", "!=1.2.3,<1.3", "0.0.3 0.0.4 0.2.3 0.3.0 1.0.0-rc.1 1.0.0 1.2.2 1.2.3.4"),
    ("python", ">1.2,<=1.3", "1.2.2 1.2.3 1.2.3.4 1.3.0-alpha.2 1.3.0-alpha.10 1.3.0"),
    ("python", ">=1.0.0rc1,<1.0.0", ""),
    ("python", "~=1.2", "1.2.2 1.2.3 1.2.3.4 1.3.0-alpha.2 1.3.0-alpha.10 1.3.0"),
    ("python", "^1.2.3", "1.2.3 1.2.3.4 1.3.0-alpha.2 1.3.0-alpha.10 1.3.0"),
    ("python", "~1.2.2", "1.2.2 1.2.3 1.2.3.4"),
    ("python", "^0.0.3", "0.0.3"),
    ("python", "===1.2.3", "1.2.3"),
    ("python", "<0.0.4", "0.0.3"),
]


@pytest.mark.parametrize(("language", "constraint", "fitting"), FITTING)
def test_each_version_that_fits(language: Language, constraint: str, fitting: str) -> None:
    """At both sides of each bound; a pre-release where the constraint names one, or Python takes it."""
    found = [version for version in EACH.split() if satisfiable(language, constraint, [version])]
    assert found == fitting.split()
