"""What audits say of tasks, and their page; which repositories a set names, knows and takes.

`python -m tests.groundup_factory.test_golden` writes golden/audits.txt and sets.txt anew: read what changed.
"""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.domain.verdicts import Graded, Status
from groundup.suites.base import HiddenCode
from groundup.suites.dibench.sizes import Size
from groundup_factory.audit_findings import Audit, Readings, TaskAudit, TaskFacts, judged, page, read_hidden_tests
from groundup_factory.filters import FilterRules, RepositoryFacts, allows_copies, facts_of, licence_of, refuse
from groundup_factory.set_entries import identity, parse_repository, parse_wish
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.test_audit_findings import ALL, HALF, NONE, graded

GOLDEN = Path(__file__).parent / "golden" / "audits.txt"
TESTS = """
import calc, calc.deep as deep, other
from calc.deep import turn as t, __version__
from calc import *
from . import mine
def check_it(x): assert x
def helped(x): check_it(x)
@pytest.fixture
def fitting(): raise ValueError
def test_checks(): calc.add(1); assert deep.most
def test_nothing(): t.angle; calc.__doc__
def test_helped(): helped(3)
def test_fixture(fitting): calc.sub(fitting)
def test_by_name(): self.assertEqual(1, 2)
async def test_waits(): await other.thing()
def unseen(): assert False
class TestAll:
    def test_inside(self): pass
    def test_raises(self):
        with pytest.raises(E): calc.Odd()
    def helper(self): pass
"""
PATHS = 'get("/boats/{id}/crew-list"); put(`/Quay/:n`); "/x y"; "//z"; \'/berths\''
FAILED = graded({"a": "failed"}, status=Status.INFRASTRUCTURE)
TAMPERED = graded({"a": "passed"}, status=Status.TAMPERED)
MANY = graded({f"t{number:02}": "passed" for number in range(40)})
FEW = Graded(verdict=MANY.verdict, tests=MANY.tests[:35])
READ = Readings(tests=7, assert_nothing=("t.py::a", "t.py::b"), hidden_names=("calc.add",))
CASES: dict[str, tuple[TaskFacts, list[Graded], dict[str, Graded | None]]] = {
    "valid": (
        TaskFacts(task="valid", declared={"1": 2, "2": 2}, readings=READ),
        [ALL, ALL],
        {"nop": NONE, "stub": NONE},
    ),
    "one fails": (TaskFacts(task="one fails", readings=Readings(tests=1)), [ALL, HALF], {"nop": NONE}),
    "stub": (TaskFacts(task="stub", declared={"1": 4}), [ALL], {"nop": NONE, "stub": HALF}),
    "nop passes": (
        TaskFacts(task="nop passes", declared={"1": 5}),
        [ALL],
        {"nop": HALF, "mine": HALF, "gone": None},
    ),
    "no oracle": (TaskFacts(task="no oracle", unread=("tests cannot be read",)), [], {"nop": NONE}),
    "infrastructure": (TaskFacts(task="infrastructure"), [ALL, FAILED], {"nop": FAILED, "stub": TAMPERED}),
    "tampered": (TaskFacts(task="tampered"), [TAMPERED], {"nop": TAMPERED}),
    "no words": (TaskFacts(task="no words", readings=Readings(tests=3, hidden_names=None)), [ALL], {}),
    "answers": (TaskFacts(task="answers", answers=("a", "b", "c", "d", "e")), [ALL], {"nop": NONE}),
    "many": (TaskFacts(task="many", declared={"1": 90}), [MANY, FEW], {"stub": MANY, "mine": MANY}),
}


def _audited(name: str) -> TaskAudit:
    facts, oracle, others = CASES[name]
    return judged(facts, oracle, others, worthless=("nop", "gone"))


def _all() -> Iterator[str]:
    audits = [_audited(name) for name in CASES]
    for one in audits:
        yield f"{one.task}: {one.standing}, {one.why}"
        yield f"  {one.oracle}"
        yield f"  {one.floors}"
        yield f"  {one.free}"
    yield page(Audit(suite="toys", grader="strict", groundup="1.0", tasks=tuple(audits)))
    yield page(Audit(suite="toys", grader="strict", groundup="1.0", tasks=()))
    files = {"tests/test_a.py": TESTS, "b/T.java": PATHS, "broken.py": "def ("}
    for words in ("add, most and Odd; boats crew list QUAY", "", None):
        for packages in (("calc",), ("calc.deep", "other"), ()):
            found = read_hidden_tests(HiddenCode(files=files, packages=packages, specification=words))
            yield f"{words!r}, {packages}: {found}"


def test_audits_say_what_is_recorded() -> None:
    """Each standing with its sentences, the page, and what is read in hidden tests."""
    assert "\n".join(_all()) + "\n" == GOLDEN.read_text(encoding="utf-8")


SETS = GOLDEN.with_name("sets.txt")
REDISTRIBUTION = "Redistribution and use in source and binary forms"
LICENCES: Mapping[str, Mapping[str, str]] = {
    "none": {"README": "MIT License"},
    "affero": {"COPYING": "GNU AFFERO GENERAL PUBLIC LICENSE\n  Version 3"},
    "lesser": {"LICENCE.md": "GNU Lesser General Public License, after the GNU General Public License Version 3"},
    "two": {
        "LICENSE-APACHE": "Apache License\nVersion 2.0",
        "LICENSE-MIT": "Permission is hereby granted, free of charge, to any person obtaining a copy",
    },
    "bsd": {"license.txt": f"{REDISTRIBUTION}, with or without; endorse or promote products"},
    "short bsd": {"UNLICENSE": REDISTRIBUTION, "License2": REDISTRIBUTION},
    "unknown text": {"LICENSE": "do what you want", "setup.py": "setup(name='x')\nlicense = 'WTFPL'"},
    "pyproject": {"pyproject.toml": "license = {text = 'MIT OR X'}", "package.json": '"license": "ISC"'},
    "package": {"package.json": '{\n  "license": "ISC"\n}'},
    "too long": {"Cargo.toml": f'license = "{"x" * 41}"'},
}
TAKEN = RepositoryFacts(
    language="rust", licence="BSD-3-Clause", size=Size(lines=50, tests=2), moment="2026-03-02T00:00:00Z", stars=3
)
RULES = [
    {"languages": ("python", "java")},
    {"languages": ("rust",)},
    {"licences": ("MIT", "apache*")},
    {"licences": ("bsd*",)},
    {"min_lines": 51},
    {"min_lines": 50},
    {"max_lines": 49},
    {"max_lines": 50},
    {"min_tests": 3},
    {"min_tests": 2},
    {"ci": True},
    {"since": date(2026, 3, 3)},
    {"since": date(2026, 3, 2)},
    {"until": date(2026, 3, 1)},
    {"until": date(2026, 3, 2)},
    {"min_stars": 4},
    {"min_stars": 3},
    {"ci": True, "min_stars": 9, "min_tests": 9},
]
WISHES = (
    "flask",
    "Flask_Login==1.0",
    "flask==1 0",
    "-x",
    "a b",
    "host/own/calc",
    "host/own/calc.git@abc",
    "https://host/o/n.git",
    "git@host:own/calc.git",
    "git@host:own/calc@v1",
    "/no/such/folder",
    '{"full_name": "own/calc", "stargazers_count": 4}',
    '{"repository": "own/calc", "commit": "abc", "language": "C#", "stars": 2}',
    '{"repository": "host/own/calc"}',
    '{"full_name": "own/calc", "commit_sha": "d", "language": "golang"}',
    '{"repository": "own/calc", "language": "basic"}',
    '{"name": "x"}',
    "{",
    '{"repository": 3}',
    '{"repository": "own/calc", "stars": "many"}',
)


def _said(make: object, *given: object) -> str:
    try:
        return f"{make(*given)}"  # type: ignore[operator]
    except GroundupError as error:
        return f"{type(error).__name__}: {error}"


def _sets(folder: Path) -> Iterator[str]:
    for number, (name, files) in enumerate(LICENCES.items()):
        tree = write_tree(
            folder / str(number),
            {"a.rs": "fn a() {}", ".github/workflows/a.txt": "", "Cargo.toml": "[package]", **files},
        )
        yield f"{name}: {licence_of(tree)}, {allows_copies(licence_of(tree))}, {facts_of(tree, 'yesterday').day}"
    for facts in (TAKEN, RepositoryFacts(), TAKEN.but(has_workflows=True)):
        yield f"##### {facts}"
        yield from (f"{rules}: {_said(refuse, facts, FilterRules.model_validate(rules))}" for rules in RULES)
    for text in WISHES:
        yield f"{text}: {_said(parse_wish, text)}; {_said(parse_repository, text)[:60]}"
    yield f"{parse_wish('flask').slug} {parse_wish('flask==1').slug}"
    yield f"{identity('own/calc', 'calc', '1')} {identity('calc', 'calc', '1')} {identity(None, 'c', 'abc')}"


def test_sets_name_and_take_what_is_recorded(tmp_path: Path) -> None:
    """Licences by their texts, both sides of each rule with its sentence, and every way to name a repository."""
    assert "\n".join(_sets(tmp_path)) + "\n" == SETS.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        SETS.write_text("\n".join(_sets(Path(place))) + "\n", encoding="utf-8")
    GOLDEN.write_text("\n".join(_all()) + "\n", encoding="utf-8")
