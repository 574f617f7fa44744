"""Which versions of languages the setup actions of a job are asked for."""

import re
from typing import Literal, NamedTuple

from groundup.workflows.steps import PlacedStep

SetupKind = Literal["python", "node", "rust", "dotnet"]
_ACTIONS: tuple[tuple[re.Pattern[str], SetupKind, tuple[str, ...]], ...] = (
    (
        re.compile(r"setup-(?:python|uv|pdm|cached-uv|miniconda|micromamba)|deadsnakes/action"),
        "python",
        ("python-version",),
    ),
    (re.compile(r"setup-node"), "node", ("node-version",)),
    (
        re.compile(r"rust-toolchain|setup-rust|actions-rs/toolchain"),
        "rust",
        ("toolchain", "rust-version", "channel"),
    ),
    (re.compile(r"setup-dotnet"), "dotnet", ("dotnet-version",)),
)
"""Names of actions, what they set up, and their inputs that name versions."""
_TOOLCHAIN = re.compile(r"stable|beta|nightly|\d")


class Setup(NamedTuple):
    """A setup action's request."""

    kind: SetupKind
    versions: tuple[str, ...]
    """As written, in their order; a version that only a running workflow knows is left out."""


def setup_of(placed: PlacedStep) -> Setup | None:
    """Return what the action of a step is asked to set up; None where it is no setup action."""
    action, _, ref = (placed.step.uses or "").partition("@")
    for name, kind, inputs in _ACTIONS:
        if not name.search(action):
            continue
        given = [placed.step.inputs[key] for key in inputs if key in placed.step.inputs]
        texts = [placed.contexts.text(text) or "" for text in given]
        # `dtolnay/rust-toolchain@1.70`: the reference is the version.
        if kind == "rust" and not given and ("dtolnay/" in action or _TOOLCHAIN.match(ref)):
            texts = [ref]
        return Setup(kind, tuple(line.strip() for text in texts for line in text.splitlines() if line.strip()))
    return None
