"""What audits say of tasks, and their page.

`python -m tests.groundup_factory.test_golden` writes golden/audits.txt anew: read what changed.
"""

from collections.abc import Iterator
from pathlib import Path

from groundup.domain.verdicts import Graded, Status
from groundup.suites.base import HiddenCode
from groundup_factory.audit_findings import Audit, Readings, TaskAudit, TaskFacts, judged, page, read_hidden_tests
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


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(_all()) + "\n", encoding="utf-8")
