"""Versions that setup actions are asked for."""

import pytest

from groundup.grading.ci.actions import STAND_INS, inputs_of
from groundup.workflows.expressions import Contexts
from groundup.workflows.jobs import PlacedStep, Setup, setup_of
from groundup.workflows.workflow import Step

VERSIONS = {"python-version", "node-version", "toolchain", "rust-version", "channel", "dotnet-version"}


def setup(uses: str, **inputs: str) -> Setup | None:
    """Return what a step sets up in a leg with `py`."""
    step = Step(index=0, uses=uses, inputs={key.replace("_", "-"): value for key, value in inputs.items()})
    return setup_of(PlacedStep(step, Contexts({"py": "3.12"}), step))


@pytest.mark.parametrize(
    ("found", "kind", "versions"),
    [
        (setup("actions/setup-python@v5", python_version="${{ matrix.py }}\n3.9"), "python", ("3.12", "3.9")),
        (setup("actions/setup-python@v5", python_version="${{ needs.a.outputs.b }}"), "python", ()),
        (setup("dtolnay/rust-toolchain@1.70"), "rust", ("1.70",)),
        (setup("dtolnay/rust-toolchain@master", toolchain="nightly"), "rust", ("nightly",)),
        (setup("actions-rs/toolchain@v1"), "rust", ()),
        (setup("moonrepo/setup-rust@v1", channel="stable"), "rust", ("stable",)),
    ],
)
def test_versions_are_those_of_the_leg(found: Setup | None, kind: str, versions: tuple[str, ...]) -> None:
    """Expressions are replaced, lines are versions of their own, and a reference may be the version."""
    assert found == Setup(kind, versions)  # type: ignore[arg-type]


def test_other_actions_set_up_nothing() -> None:
    """A cache, or an installer of tools, names no version of a language."""
    assert setup("actions/cache@v4") is None
    assert setup("taiki-e/install-action@v2") is None


def test_every_stand_in_that_takes_a_version_is_known() -> None:
    """Grading prepares the versions that its stand-ins are asked for, so none of them may be missed."""
    for action, stub in STAND_INS.items():
        prepares = "setup" in action or "toolchain" in action  # others only use what is prepared
        if prepares and VERSIONS & (inputs_of(stub) or frozenset()):
            assert setup(f"{action}@v1") is not None, action
