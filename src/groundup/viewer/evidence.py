"""What lies in the folder of one attempt, in pieces that fit a page. All of it comes from strangers.

Nothing follows a link, and nothing is read whole: steps are found by the places of their lines, logs by bytes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from groundup.agents.trajectories import call_text, reply_of
from groundup.domain.records import Record
from groundup.store.attempts import AttemptFolder
from groundup.trees.walking import open_regular

STEPS_SHOWN = 20
STEP_CHARACTERS = 20_000
LOG_BYTES = 64 * 1024
FILE_BYTES = 256 * 1024
FILES_SHOWN = 2_000
_DEPTH = 32
_KIND = re.compile(rb'"kind"\s*:\s*"([a-z_]{1,40})"')
_KIND_WITHIN = 200
_TRY = re.compile(r"logs/try-(\d{1,6})/")


class Part(Record):
    """A named text of a step: what was said, thought, called or answered."""

    kind: str
    text: str
    cut: int = 0
    """Characters left out at its end."""


class TurnStep(Record):
    """One step of a trajectory, for people."""

    number: int
    kind: str
    at: str
    heading: str
    parts: tuple[Part, ...]


class StepPage(Record):
    """Some steps of a trajectory, and where they stand in it."""

    steps: tuple[TurnStep, ...]
    first: int
    total: int
    kinds: tuple[str, ...]


class FileName(Record):
    """A file of a submission."""

    path: str
    bytes: int


class Piece(Record):
    """A piece of a file: its text, where it begins, and how long the whole is."""

    text: str
    start: int
    end: int
    total: int
    binary: bool = False


def steps(attempt: AttemptFolder, first: int = 0, kind: str = "") -> StepPage:
    """Return up to `STEPS_SHOWN` steps from the number *first* on; with *kind*, of that kind alone."""
    try:
        file = open_regular(attempt.trajectory_file)
    except OSError:
        return StepPage(steps=(), first=0, total=0, kinds=())
    with file:
        places, kinds = _places(file, kind)
        first = max(0, min(first, max(len(places) - 1, 0)))
        shown = [
            _step(number, _line(file, start, length))
            for number, start, length in islice(places, first, first + STEPS_SHOWN)
        ]
    return StepPage(steps=tuple(shown), first=first, total=len(places), kinds=tuple(sorted(kinds)))


def _places(file: Any, kind: str) -> tuple[list[tuple[int, int, int]], set[str]]:
    """Return the number, start and length of each wanted line, and which kinds there are at all."""
    places, kinds, start = [], set(), 0
    for number, line in enumerate(file):
        if not line.endswith(b"\n"):
            break  # torn: it counts as never written
        found = _KIND.search(line[:_KIND_WITHIN])
        name = found[1].decode() if found else "?"
        kinds.add(name)
        if not kind or name == kind:
            places.append((number, start, len(line)))
        start += len(line)
    return places, kinds


def _line(file: Any, start: int, length: int) -> dict[str, Any]:
    file.seek(start)
    try:
        document = json.loads(file.read(length))
    except (ValueError, RecursionError):
        return {"kind": "damaged"}
    return document if isinstance(document, dict) else {"kind": "damaged"}


def _step(number: int, step: dict[str, Any]) -> TurnStep:
    kind = str(step.get("kind"))
    heading, parts = kind, [_part("fields", _fields(step))]
    if kind == "began":
        heading, parts = f"{step.get('agent')} {step.get('version')}, model {step.get('model') or 'none'}", []
    elif kind == "message":
        heading, parts = str(step.get("role")), [_part("text", step.get("content"))]
    elif kind == "result":
        heading = f"turn {step.get('turn')}: {step.get('name')}, {step.get('seconds')} s"
        parts = [_part("output", step.get("content"))]
    elif kind == "ended":
        heading, parts = f"ended: {step.get('outcome')}", [_part("text", step.get("detail"))]
    elif (reply := reply_of(step)) is not None:
        usage = reply.usage
        cost = f", ${reply.cost_usd:.4f}" if reply.cost_usd is not None else ""
        heading = f"turn {step.get('turn')}: model, {usage.input_tokens} + {usage.output_tokens} tokens{cost}"
        calls = [_part("call", f"{call.name}: {call_text(call.arguments)}") for call in reply.message.tool_calls]
        parts = [_part("reasoning", reply.message.reasoning), _part("text", reply.message.content), *calls]
    shown = tuple(part for part in parts if part.text.strip())
    return TurnStep(number=number, kind=kind, at=str(step.get("at", ""))[11:19], heading=heading, parts=shown)


def _part(kind: str, text: object) -> Part:
    words = "" if text is None else str(text)
    return Part(kind=kind, text=words[:STEP_CHARACTERS], cut=max(0, len(words) - STEP_CHARACTERS))


def _fields(step: dict[str, Any]) -> str:
    rest = {name: value for name, value in step.items() if name not in ("kind", "at")}
    return json.dumps(rest, ensure_ascii=False, indent=1) if rest else ""


def files(attempt: AttemptFolder) -> tuple[list[FileName], bool]:
    """Return the files of the submission by path, and whether there are more than are shown."""
    found = list(islice(_walk(attempt.submission, PurePosixPath(), 0), FILES_SHOWN + 1))
    return sorted(found[:FILES_SHOWN], key=lambda one: one.path), len(found) > FILES_SHOWN


def _walk(folder: Path, below: PurePosixPath, depth: int) -> Iterator[FileName]:
    if depth > _DEPTH or folder.is_symlink():
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            entry.name.encode()
        except UnicodeEncodeError:
            continue  # no address can name it
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _walk(entry, below / entry.name, depth + 1)
        elif entry.is_file():
            yield FileName(path=str(below / entry.name), bytes=entry.stat().st_size)


def logs(attempt: AttemptFolder) -> list[FileName]:
    """Return the logs of graders, tries and agents."""
    folders = {"logs": attempt.logs, "agent": attempt.agent_logs}
    return [
        FileName(path=f"{name}/{one.path}", bytes=one.bytes)
        for name, folder in folders.items()
        for one in islice(_walk(folder, PurePosixPath(), 0), FILES_SHOWN)
    ]


def by_try(names: Sequence[FileName]) -> list[tuple[str, list[FileName]]]:
    """Return logs below headings: of the agent, of each try that was repeated, and of the one that counts."""
    found: dict[tuple[int, str], list[FileName]] = {}
    for name in names:
        kept = _TRY.match(name.path)
        if name.path.startswith("agent/"):
            place = (0, "agent")
        else:
            place = (int(kept[1]), f"try {kept[1]}, repeated") if kept else (10**9, "the try that counts")
        found.setdefault(place, []).append(name)
    return [(heading, found[order, heading]) for order, heading in sorted(found)]


def file_piece(attempt: AttemptFolder, path: str) -> Piece | None:
    """Return the beginning of a file of the submission; None where there is none of that name."""
    return _piece(attempt.submission, path, 0, FILE_BYTES)


def log_piece(attempt: AttemptFolder, path: str, start: int) -> Piece | None:
    """Return a piece of a log from the byte *start* on; a negative one counts from its end."""
    name, _, rest = path.partition("/")
    folder = {"logs": attempt.logs, "agent": attempt.agent_logs}.get(name)
    return None if folder is None else _piece(folder, rest, start, LOG_BYTES)


def _piece(folder: Path, path: str, start: int, size: int) -> Piece | None:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/") or "\0" in path or len(path) > 4096:
        return None
    place = folder
    for part in parts:  # every folder on the way, so that no link leads out
        place = place / part
        if place.is_symlink():
            return None
    try:
        file = open_regular(place)
    except OSError:
        return None
    with file:
        total = file.seek(0, 2)
        start = max(0, total + start if start < 0 else min(start, total))
        file.seek(start)
        data = file.read(size)
    return Piece(
        text=data.decode("utf-8", errors="replace"),
        start=start,
        end=start + len(data),
        total=total,
        binary=b"\0" in data[:8192],
    )


def highlighted(path: str, text: str) -> str | None:
    """Return *text* as escaped HTML with classes for colours; None where the language is unknown."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(PurePosixPath(path).name)
    except ClassNotFound:
        return None
    return str(highlight(text, lexer, HtmlFormatter(nowrap=True)))


def highlight_styles() -> str:
    """Return the style sheet of `highlighted`, for light and dark."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="friendly").get_style_defs("pre.code")
    dark = HtmlFormatter(style="monokai").get_style_defs("pre.code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\npre.code{{background:none}}\n"


def pages(total: int, first: int, size: int) -> Sequence[tuple[int, int]]:
    """Return the first number of each page and its place, as few as fit a line: the ends and what is near."""
    count = max(1, -(-total // size))
    here = first // size
    near = {0, count - 1, *range(max(0, here - 2), min(count, here + 3))}
    return [(page * size, page + 1) for page in sorted(near)]
