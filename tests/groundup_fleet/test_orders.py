"""What travels between driver and nodes: whole, checked, and never a reason to blame a submission."""

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groundup.domain import errors
from groundup.domain.errors import InfrastructureError, MachineError, SubmissionError, TaskError
from groundup.domain.subjects import Subject
from groundup.domain.version import __version__
from groundup.episodes.records import EpisodeSpec
from groundup.models import protocol
from groundup.trees.digest import tree_digest
from groundup_fleet import node
from groundup_fleet.extra import distributed
from groundup_fleet.orders import NodeAnswer, Order, failure_of, packed, unpack
from tests.groundup_fleet.fleets import worker_here


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


def test_a_tree_arrives_as_it_was(tmp_path: Path) -> None:
    """Its digest says so."""
    tree = a_tree(tmp_path)
    unpack(packed(tree), tmp_path / "there", tree_digest(tree).digest)
    assert tree_digest(tmp_path / "there") == tree_digest(tree)


@pytest.mark.parametrize("damage", [b"", b"no archive at all", None])
def test_a_tree_that_changes_on_its_way_is_no_fault_of_the_submission(
    tmp_path: Path, damage: bytes | None
) -> None:
    """Cut off, replaced, or one with another content."""
    tree = a_tree(tmp_path)
    digest = tree_digest(tree).digest
    (tree / "more").write_text("added later")
    with pytest.raises(InfrastructureError, match="on its way"):
        unpack(packed(tree) if damage is None else damage, tmp_path / "there", digest)


class OddError(TaskError):
    """One that cannot be made from its text."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} of {two}")


@pytest.mark.parametrize(
    ("error", "here"),
    [
        (SubmissionError("x"), SubmissionError),
        (TaskError("x"), TaskError),
        (InfrastructureError("x"), InfrastructureError),
        (MachineError("x"), MachineError),
        (protocol.RateLimitedError("x"), protocol.RateLimitedError),
        (errors.NetworkError("x"), errors.NetworkError),
        (errors.DiskFullError("x"), InfrastructureError),
        (errors.NoSandboxesError("x"), MachineError),
        (ValueError("x"), RuntimeError),
        (OddError(1, 2), RuntimeError),
    ],
)
def test_an_error_of_a_node_is_raised_again_as_what_it_was(error: Exception, here: type[Exception]) -> None:
    """So the driver blames whom a local run would blame, and names the node; a node's own disk stops no run."""
    text = f"{error} (on the node alpha:1)"
    found = pickle.loads(pickle.dumps(failure_of(error, "alpha:1")))
    assert type(found) is here
    assert text in str(found)


def test_a_crash_on_a_node_has_its_trace() -> None:
    """As a bug of a grader has in a local run."""
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError as error:
        text = str(failure_of(error, "n"))
    assert text.startswith("ZeroDivisionError: division by zero")
    assert "1 / 0" in text


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
    (found,) = worker.run(node.identify, "tests.runs.toy:create_provider").values()
    identity = dict(found.sandbox)
    given_identity = identity if fields.pop("identity", False) else {"sandbox": "another"}
    order = an_order(**{"groundup": __version__, "sandbox_identity": given_identity, **fields})
    answer: NodeAnswer = worker.submit(node.grade, order, b"").result()
    assert answer.graded is None
    assert why in str(answer.refused)


@pytest.mark.parametrize("error", [errors.NoSandboxesError("closed"), InfrastructureError("closed")])
def test_what_a_leaving_node_could_not_end_is_done_elsewhere(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sandboxes close under the work; neither the node nor the attempt is blamed for it."""

    def begin(*_: object) -> Future[Any]:
        begun: Future[Any] = Future()
        begun.set_exception(error)
        return begun

    tools = SimpleNamespace(begin=begin, is_full=lambda: False)
    worker = SimpleNamespace(
        name="a",
        address="tcp://127.0.0.1:1",
        status=distributed.Status.running,
        plugins={node.NodePlugin.name: SimpleNamespace(rests=False, node=tools)},
        get_current_task=lambda: "key",
    )
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    answer = node.grade(an_order(), b"")
    assert answer.refused or answer.failure
    worker.status = distributed.Status.closing_gracefully
    with pytest.raises(distributed.Reschedule):
        node.grade(an_order(), b"")
