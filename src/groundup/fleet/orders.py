"""What travels between the driver of a run and the nodes that grade for it, pickled by Dask.

An order says what shall be graded and what that was pinned with; trees travel beside it, packed.
"""

import pickle
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, JsonValue

from groundup.domain.errors import DiskFullError, GroundupError, InfrastructureError, MachineError, SandboxError
from groundup.domain.records import Record
from groundup.domain.subjects import Submission
from groundup.environments.packing import pack_folder, unpack_folder
from groundup.episodes.records import EpisodeSpec
from groundup.suites.base import Graded


class Play(Record):
    """An agent that makes the submission on a node, and where it reaches the run's model."""

    agent: str = Field(description="short name or dotted path")
    options: dict[str, JsonValue]
    identity: str = Field(description="digest of the agent with its settings")
    relay: str = Field(description="address of the driver")
    token: str = Field(description="opens the relay for this attempt, as long as it goes on")
    model: str | None
    context_tokens: int | None


class Order(Record):
    """One submission to grade or to make, and what the node must have in common with the driver."""

    spec: EpisodeSpec
    submission: str = Field(default="", description="digest of the tree")
    play: Play | None = Field(default=None, description="None: the submission is there, to be graded")
    sandbox: str
    sandbox_identity: dict[str, str]
    images: dict[str, str] = Field(default={}, description="names of tasks' images -> the images that they are")
    builder: str
    groundup: str = Field(description="version")
    code: str = Field(description="digest of the code that decides the verdict")
    use_cache: bool
    data: str | None = Field(default=None, description="digest of the driver's; None: the node's own")
    layers: dict[str, str] = Field(default={}, description="that the task needs -> digest of the content of each")
    holders: tuple[str, ...] = Field(default=(), description="addresses of the workers that have these layers")


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """What a node says of an order: what it did, why it cannot work on such orders, or what failed."""

    node: str
    address: str
    """Of the worker, as the scheduler knows it."""
    graded: tuple[Graded, bool] | None = None
    """With whether the node knew the verdict already."""
    made: tuple[Submission, bytes] | None = None
    """What an agent handed in, with its packed tree."""
    layers: dict[str, str] = field(default_factory=dict)
    """That were used -> digest of the content of each."""
    fetched: int = 0
    """How many of them came from other nodes."""
    refused: str | None = None
    """Why this node grades nothing for the run."""
    failure: Exception | None = None


def packed(tree: Path) -> bytes:
    """Return *tree* in one piece, to be unpacked by `unpack`."""
    with tempfile.TemporaryDirectory() as name:
        pack_folder(tree, Path(name) / "packed")
        return (Path(name) / "packed").read_bytes()


def unpack(data: bytes, tree: Path, digest: str) -> None:
    """Write what was `packed` to *tree*. Raises `InfrastructureError` when it is not what has *digest*."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "packed").write_bytes(data)
        unpack_folder(Path(name) / "packed", tree, digest)


def failure_of(error: Exception, node: str) -> Exception:
    """Return what the driver raises for *error*, so that it blames whom it would blame here."""
    text = f"{error} (on the node {node})"
    if isinstance(error, SandboxError | DiskFullError):  # the node's own, none of the driver's
        return (MachineError if isinstance(error, MachineError) else InfrastructureError)(text)
    if isinstance(error, GroundupError):
        error.args = (text,)
        try:
            return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]  # noqa: S301
        except Exception:  # noqa: BLE001, S110  # a class whose errors cannot travel
            pass
    trace = "".join(traceback.format_exception(error))[-20_000:]
    return RuntimeError(f"{type(error).__name__}: {text}\n{trace}")
