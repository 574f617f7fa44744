"""What travels between the driver of a run and the nodes that grade for it, as bytes.

An order says what shall be graded and what that was pinned with; the submission travels beside it as an archive.
An answer is an archive of its own: the verdict, its tests and its logs. Neither is ever unpickled.
"""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from groundup.domain import errors
from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import Submission
from groundup.domain.verdicts import TestResult, Verdict
from groundup.episodes.records import EpisodeSpec
from groundup.models import protocol
from groundup.suites.base import Graded
from groundup.trees.archives import anonymous, extract_archive
from groundup.trees.digest import tree_digest

TREE = "submission"
"""What an answer's archive calls the tree that an agent made."""
_ANSWER_BYTES = 1024**3
_ERRORS = {
    name: kind
    for module in (errors, protocol)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, errors.GroundupError)
    # A node's own disk and sandboxes are none of the driver's: there they are a failure of the node's.
    if kind is not errors.GroundupError and not issubclass(kind, errors.SandboxError | errors.DiskFullError)
}
"""How a node's failure is raised again on the driver: by the first of its classes that stands here."""


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
    data: tuple[str, str] | None = Field(
        default=None, description="of the suite, from the driver: name of its folder, digest; None: the node's own"
    )
    layers: dict[str, str] = Field(default={}, description="that the task needs -> digest of the content of each")
    holders: tuple[str, ...] = Field(default=(), description="addresses of the workers that have these layers")


class NodeAnswer(Record):
    """What a node says of an order: a verdict, why it cannot work on such orders, or what failed."""

    node: str
    address: str = Field(default="", description="of the worker, as the scheduler knows it")
    verdict: Verdict | None = None
    submission: Submission | None = Field(default=None, description="that an agent made; its tree is a log")
    tests: tuple[TestResult, ...] = ()
    cached: bool = False
    layers: dict[str, str] = Field(default={}, description="that were used -> digest of the content of each")
    fetched: int = Field(default=0, description="how many of them came from other nodes")
    refused: str | None = Field(default=None, description="why this node grades nothing for the run")
    error: str | None = Field(default=None, description="name of a class of errors")
    message: str = ""
    trace: str = ""


def pack_tree(tree: Path) -> bytes:
    """Return *tree* as an archive; the same tree makes the same bytes."""
    buffer = io.BytesIO()
    # gzip's header has the time of packing, which tarfile's own compression leaves no way to set.
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(tree.rglob("*")):
            tar.add(path, str(path.relative_to(tree)), recursive=False, filter=anonymous)
    return buffer.getvalue()


def unpack_tree(archive: bytes, destination: Path, digest: str) -> None:
    """Write the submission in *archive* to *destination*. Raises `InfrastructureError` when it is another one."""
    packed = destination.with_name(f"{destination.name}.tar.gz")
    packed.write_bytes(archive)
    try:
        extract_archive(packed, destination)
    except SubmissionError as error:
        raise InfrastructureError(f"a submission was damaged on its way: {error}") from error
    finally:
        packed.unlink()
    if tree_digest(destination).digest != digest:
        raise InfrastructureError("a submission was changed on its way: its digest is another one")


def pack_answer(answer: NodeAnswer, logs: dict[str, bytes]) -> bytes:
    """Return *answer* with its logs as one archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("answer.json", answer.model_dump_json())
        packed.writestr("logs.json", json.dumps({str(number): name for number, name in enumerate(logs)}))
        for number, content in enumerate(logs.values()):
            packed.writestr(f"logs/{number}", content)
    return buffer.getvalue()


def read_answer(data: bytes) -> tuple[NodeAnswer, dict[str, bytes]]:
    """Return what `pack_answer` packed. Raises `InfrastructureError` for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > _ANSWER_BYTES:
                raise InfrastructureError("a node's answer is larger than 1 GiB")
            answer = NodeAnswer.model_validate_json(packed.read("answer.json"))
            names: dict[str, JsonValue] = json.loads(packed.read("logs.json"))
            return answer, {str(name): packed.read(f"logs/{number}") for number, name in names.items()}
    except ValidationError as error:
        raise InfrastructureError(f"a node's answer cannot be read: {plainly(error.errors()[0])}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError) as error:
        raise InfrastructureError(f"a node's answer cannot be read: {error}") from error


def graded_by(answer: NodeAnswer, logs: dict[str, bytes]) -> Graded:
    """Return the verdict of *answer*, or raise what failed on the node, as the class that it was there."""
    if answer.verdict is not None:
        return Graded(verdict=answer.verdict, tests=answer.tests, logs=logs)
    raise _failure(answer)


def made_by(answer: NodeAnswer, logs: dict[str, bytes]) -> tuple[Submission, bytes]:
    """Return what an agent handed in, and its tree as an archive; or raise what failed, as `graded_by`."""
    if answer.submission is not None:
        return answer.submission, logs[TREE]
    raise _failure(answer)


def _failure(answer: NodeAnswer) -> Exception:
    message = f"{answer.message} (on the node {answer.node})"
    if answer.error in _ERRORS:
        return _ERRORS[answer.error](message)
    return RuntimeError(f"{answer.error}: {message}\n{answer.trace}")


def raised(name: str, message: str) -> Exception:
    """Return the error that `named` called *name*."""
    return _ERRORS.get(name, InfrastructureError)(message)


def named(error: BaseException) -> str:
    """Return the name by which the driver raises *error* again."""
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS), type(error).__name__)
