"""What travels between driver and nodes: whole, checked, and never a reason to blame a submission."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain import errors
from groundup.domain.errors import InfrastructureError, MachineError, SubmissionError, TaskError
from groundup.domain.subjects import Subject
from groundup.domain.verdicts import GraderIdentity, Score, Status, TestResult, Verdict
from groundup.domain.version import __version__
from groundup.episodes.records import EpisodeSpec
from groundup.fleet import node
from groundup.fleet.extra import distributed
from groundup.fleet.orders import (
    NodeAnswer,
    Order,
    graded_by,
    named,
    pack_answer,
    pack_tree,
    read_answer,
    unpack_tree,
)
from groundup.models import protocol
from groundup.trees.digest import tree_digest
from tests.fleet.fleets import worker_here

VERDICT = Verdict(
    status=Status.GRADED,
    score=Score(numerator=1, denominator=2),
    grader=GraderIdentity(name="strict", version="1", data_version="1", environment="none"),
)


def a_tree(folder: Path) -> Path:
    """Return a tree with folders, an empty one too, a link and a program."""
    tree = folder / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "deep" / "er" / "file.py").write_text("print(1)\n")
    (tree / "link").symlink_to("deep/er/file.py")
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    return tree


def test_a_tree_arrives_as_it_was_and_makes_the_same_bytes_again(tmp_path: Path) -> None:
    """Its digest says so; times and owners do not travel."""
    tree = a_tree(tmp_path)
    packed = pack_tree(tree)
    unpack_tree(packed, tmp_path / "there", tree_digest(tree).digest)
    assert tree_digest(tmp_path / "there") == tree_digest(tree)
    (tree / "run.sh").touch()
    assert pack_tree(tree) == packed
    assert packed[4:8] == bytes(4), "gzip's header has a time"


@pytest.mark.parametrize("damage", [b"", b"no archive at all", None])
def test_a_tree_that_changes_on_its_way_is_no_fault_of_the_submission(
    tmp_path: Path, damage: bytes | None
) -> None:
    """Cut off, replaced, or one with another content."""
    tree = a_tree(tmp_path)
    digest = tree_digest(tree).digest
    (tree / "more").write_text("added later")
    with pytest.raises(InfrastructureError, match="on its way"):
        unpack_tree(pack_tree(tree) if damage is None else damage, tmp_path / "there", digest)


def test_an_answer_arrives_with_its_logs() -> None:
    """Names of logs can be anything."""
    tests = (TestResult(id="a::b", outcome="passed", expected=True),)
    answer = NodeAnswer(node="n", address="tcp://n:1", verdict=VERDICT, tests=tests, cached=True)
    logs = {"service.log": b"\0\xff", "../../etc/passwd": b"x", "": b""}
    assert read_answer(pack_answer(answer, logs)) == (answer, logs)
    assert graded_by(*read_answer(pack_answer(answer, logs))).logs == logs


@given(st.binary(max_size=200))
def test_an_answer_that_is_none_is_a_failure_of_the_infrastructure(data: bytes) -> None:
    """Whatever a node sends."""
    with pytest.raises(InfrastructureError, match="cannot be read"):
        read_answer(data)


@pytest.mark.parametrize("error", [SubmissionError, TaskError, InfrastructureError, MachineError])
def test_an_error_of_a_node_is_raised_again_as_what_it_was(error: type[Exception]) -> None:
    """So the driver blames whom a local run would blame, and names the node."""
    answer = NodeAnswer(node="alpha:1", error=named(error("its pins clash")), message="its pins clash")
    with pytest.raises(error, match=r"its pins clash \(on the node alpha:1\)"):
        graded_by(answer, {})


@pytest.mark.parametrize(
    ("error", "here"),
    [
        (protocol.RateLimitedError("x"), protocol.RateLimitedError),
        (errors.NetworkError("x"), errors.NetworkError),
        (errors.DiskFullError("x"), InfrastructureError),
        (errors.NoSandboxesError("x"), MachineError),
        (errors.GroundupError("x"), RuntimeError),
    ],
)
def test_a_node_without_room_or_sandboxes_stops_no_run(error: Exception, here: type[Exception]) -> None:
    """On the driver that is a failure of the node's; what models and registries say stays what it is."""
    with pytest.raises(here, match="x") as raised:
        graded_by(NodeAnswer(node="n", error=named(error), message="x"), {})
    assert type(raised.value) is here


def test_an_unknown_error_of_a_node_is_a_crash_with_its_trace() -> None:
    """As a bug of a grader is in a local run."""
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        graded_by(NodeAnswer(node="n", error=named(ZeroDivisionError()), message="division by zero"), {})


def an_order(**fields: object) -> Order:
    """Return an order for the toy suite, with *fields* changed."""
    spec = EpisodeSpec(suite="tests.runs.toy:create_two", task="task-0000", subject=Subject(agent="external"))
    usual = {
        "spec": spec,
        "submission": "sha256:0",
        "sandbox": "tests.runs.toy:create_provider",
        "sandbox_identity": {},
        "builder": "tests.runs.toy:create_builder",
        "groundup": "0",
        "code": "sha256:0",
        "use_cache": False,
    }
    return Order.model_validate({**usual, **fields})


@pytest.fixture(scope="module")
def worker() -> Iterator[Any]:
    """Return what reaches a node in this process."""
    with (
        worker_here() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(node.NodePlugin())
        yield client


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"groundup": "0.0.1"}, "the run groundup 0.0.1"), ({}, "its sandbox is"), ({"identity": True}, "its code")],
)
def test_a_node_that_differs_from_the_run_says_so_instead_of_grading(
    worker: Any, fields: dict[str, object], why: str
) -> None:
    """Other versions, another sandbox, or other code under the same version."""
    identity = dict(node.NodeIdentity.model_validate_json(node.identify("tests.runs.toy:create_provider")).sandbox)
    given_identity = identity if fields.pop("identity", False) else {"sandbox": "another"}
    order = an_order(**{"groundup": __version__, "sandbox_identity": given_identity, **fields})
    answer, _ = read_answer(worker.submit(node.grade, order.model_dump_json().encode(), b"").result())
    assert answer.verdict is None
    assert why in str(answer.refused)
