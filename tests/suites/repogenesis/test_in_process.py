"""Hidden tests that import the submission, graded as libraries are."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Status
from groundup.grading.context import GradingContext
from groundup.suites.base import Graded
from groundup.suites.repogenesis.counting import named_tests
from groundup.suites.repogenesis.in_process import imported_packages
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.tasks import ServiceProblem, read_dataset
from groundup.trees.walking import remove_tree
from tests.grading.library.laboratory import write_tree
from tests.suites.repogenesis.trials import LIFECYCLE, TASK, ServiceBuilder, Trial, share

RECORD = """
format = 1
id = "notes"
language = "python"
port = 8123
kind = "in-process"
endpoints = ["GET /"]

[tests]
count = 2
"""
TESTS = """
import json
from shop.prices import price

class TestPrices:
    def test_known(self): assert price("tea") == 3

def test_unknown():
    try:
        price("gold")
    except KeyError:
        return
    assert False
"""
SHOP = {"shop/__init__.py": "", "shop/prices.py": "def price(name): return {'tea': 3}[name]\n"}


def in_process(folder: Path, record: str = RECORD) -> ServiceProblem:
    """Return the task."""
    files = {"README.md": "# Shop\n", "task.toml": record, "tests/test_prices.py": TESTS}
    write_tree(folder / "data/notes", files)
    return read_dataset(folder / "data").problems[0]


async def _verdict(trial: Trial, submission: Path, problem: ServiceProblem) -> Graded:
    scratch = trial.folder / "scratch"
    scratch.mkdir()
    context = GradingContext(provider=trial.provider, builder=ServiceBuilder(trial.folder), scratch=scratch)
    try:
        return await RepoGenesisStrictGrader({"notes": problem}, LIFECYCLE).grade(TASK, submission, context)
    finally:
        remove_tree(scratch)


async def graded(trial: Trial, files: dict[str, str], record: str = RECORD) -> tuple[float, float | None]:
    """Return the tests that count and the share of deployed services."""
    submission = write_tree(trial.folder / "submission", files)
    found = await _verdict(trial, submission, in_process(trial.folder, record))
    assert found.verdict.score is not None
    assert found.verdict.score.denominator == 2
    return found.verdict.score.numerator, share(found, "deployed")


@pytest.mark.end_to_end
async def test_what_the_tests_import_is_enough(trial: Trial) -> None:
    """Tests in the same process need no running service; deployment is a fact of its own."""
    assert await graded(trial, SHOP) == (2, 0)


@pytest.mark.end_to_end
async def test_a_wrong_library_loses_what_is_wrong(trial: Trial) -> None:
    """Each test is judged by itself."""
    wrong = {**SHOP, "shop/prices.py": "def price(name): return 3\n"}

    assert (await graded(trial, wrong))[0] == 1


SERVED = """
import threading, urllib.request
from http.server import HTTPServer
from shop.prices import Prices

def asked(path):
    server = HTTPServer(("127.0.0.1", 0), Prices)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}") as answer:
        return answer.read()

def test_known():
    assert asked("/prices/tea") == b"3"

def test_unknown():
    assert asked("/prices/gold") == b"none"
"""
SERVICE = """
from http.server import BaseHTTPRequestHandler

class Prices(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"3")

    def log_message(self, *words):
        pass
"""


@pytest.mark.end_to_end
async def test_a_lost_test_of_a_service_tells_its_last_exchange(trial: Trial) -> None:
    """As a test does that asks a service in another process."""
    problem = in_process(trial.folder)
    write_tree(trial.folder / "data/notes", {"tests/test_prices.py": SERVED})
    submission = write_tree(trial.folder / "submission", {"shop/__init__.py": "", "shop/prices.py": SERVICE})
    (lost,) = [test for test in (await _verdict(trial, submission, problem)).tests if test.outcome == "failed"]
    assert lost.demand.startswith("last exchange: GET /prices/gold -> 200"), lost.demand


@pytest.mark.end_to_end
async def test_nothing_gets_nothing(trial: Trial) -> None:
    """Without the package no test counts."""
    assert (await graded(trial, {}))[0] == 0


@pytest.mark.end_to_end
@pytest.mark.needs("groundup_integrity")
async def test_a_submission_that_makes_all_tests_pass_gets_nothing(trial: Trial) -> None:
    """Results forged inside the process pass with false expectations, too, and none counts."""
    forger = (
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\ndef price(name): return 0\n"
    )

    submission = write_tree(trial.folder / "submission", {**SHOP, "shop/prices.py": forger})
    found = await _verdict(trial, submission, in_process(trial.folder))
    assert (found.verdict.status, found.verdict.score) == (Status.TAMPERED, None)


SIX = "from shop.prices import price\n\n" + "".join(
    f"def test_{number}():\n    assert price({number}) == {number % 3}\n\n" for number in range(6)
)
NAMES = tuple(f"test_{number}" for number in range(6))


def forger(*forged: str) -> dict[str, str]:
    """Return a library of which tests 0, 1 and 2 pass honestly; those *forged* pass whatever they expect."""
    code = (
        "import _pytest.python\n_honest = _pytest.python.Function.runtest\n"
        f"def _run(self):\n    if self.name not in {forged!r}: _honest(self)\n"
        "_pytest.python.Function.runtest = _run\ndef price(number): return number\n"
    )
    return {**SHOP, "shop/prices.py": code}


@pytest.mark.end_to_end
@pytest.mark.parametrize("forged", [(), NAMES[3:4], NAMES[3:], NAMES])
@pytest.mark.needs("groundup_integrity")
async def test_forging_known_names_is_found_out(trial: Trial, forged: tuple[str, ...]) -> None:
    """One forged test is never enough to accuse; of three or more the check sees two nearly each time."""
    files = {
        "README.md": "# Shop\n",
        "task.toml": RECORD.replace("count = 2", "count = 6"),
        "tests/test_prices.py": SIX,
    }
    write_tree(trial.folder / "data/notes", files)
    submission = write_tree(trial.folder / "submission", forger(*forged))
    problem = read_dataset(trial.folder / "data").problems[0]
    for _ in range(6):
        found = (await _verdict(trial, submission, problem)).verdict
        if len(forged) < 2:
            assert (found.score is not None, found.facts["passed"]) == (True, 3 + len(forged))
        if found.status is Status.TAMPERED or len(forged) < 2:
            break
    assert (found.status is Status.TAMPERED) == (len(forged) > 1)


@pytest.mark.end_to_end
async def test_a_record_that_counts_other_tests_is_the_tasks_fault(trial: Trial) -> None:
    """The frozen number must be that of the tests at hand."""
    with pytest.raises(TaskError, match="mend the record"):
        await graded(trial, SHOP, RECORD.replace("count = 2", "count = 3"))


def test_names_come_from_the_source(tmp_path: Path) -> None:
    """Ids of functions and methods, and the packages that only a submission can provide."""
    folder = write_tree(tmp_path / "tests", {"test_prices.py": TESTS, "conftest.py": "import pytest, fastapi\n"})

    assert {str(test) for test in named_tests(folder, "tests")} == {
        "tests/test_prices.py::TestPrices::test_known",
        "tests/test_prices.py::test_unknown",
    }
    assert imported_packages(folder, ["fastapi"]) == ("shop",)


def test_distributions_and_what_they_provide_are_no_part_of_a_submission(tmp_path: Path) -> None:
    """A requirement is a distribution's name, with versions; the import's name is often another one."""
    lines = [
        "import yaml, dateutil.parser, requests",
        "from starlette.testclient import TestClient",
        "import shop",
    ]
    folder = write_tree(tmp_path / "tests", {"test_it.py": "\n".join(lines) + "\n"})
    required = ["PyYAML", "python-dateutil", "requests>=2", "fastapi[all]==0.100"]
    assert imported_packages(folder, required) == ("shop",)
