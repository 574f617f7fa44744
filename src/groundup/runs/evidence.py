"""What lies in the folder of one attempt, in pieces that fit a page. All of it comes from strangers.

Nothing follows a link, and nothing is read whole: steps are found by the places of their lines, logs by bytes.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

from groundup.agents.history import Texts, TurnChanges, changes_of
from groundup.agents.trajectories import call_text, reply_of
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.store.attempts import AttemptFolder
from groundup.store.judgements import Judgement, read_judgements
from groundup.trees.walking import open_regular

STEPS_SHOWN = 20
STEP_CHARACTERS = 20_000
LOG_BYTES = 64 * 1024
FILE_BYTES = 256 * 1024
FILE_LINE = 500
"""Characters of a line of a change or an excerpt."""
FILES_SHOWN = 2_000
_DEPTH = 32
_KIND = re.compile(rb'"kind"\s*:\s*"([a-z_]{1,40})"')
_TURN = re.compile(rb'"turn"\s*:\s*(\d{1,9})\b')
_KIND_WITHIN = 200
_TURN_WITHIN = 300
TURNS_LISTED = 60
_SUMMED_UP = 400
"""Characters of a call and of its result where turns stand side by side."""
_TRY = re.compile(r"logs/try-(\d{1,6})/")
CHECK_LOG = "logs/check.txt"
"""Of runs beside the one that counts, such as with tests that are made to fail: no test failed as it says."""
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|\r(?=\n)")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_SECTION = re.compile(rb"^_{2,} (.{1,400}?) _{2,}$|^={3,} .{1,80} ={3,}$", re.MULTILINE)
_OF_PYTEST = re.compile(rb"^ *File .*/(?:_pytest|pluggy)/")
"""A frame of a trace that says nothing about the test; its code is on the next line."""
_SECTION_LINES = 12
_SECTIONS_WITHIN = 4 * 1024 * 1024
_CHANGES_SHOWN = 40
_CHANGED_LINES = 400
_COMPARED_LINES = 3_000
_COMPARED_BYTES = 32 * 1024 * 1024
OF_REPLIES: Mapping[str, frozenset[str]] = {
    "calls": frozenset({"call"}),
    "reasoning": frozenset({"reasoning"}),
    "usage": frozenset(),
}
"""What a page may show of the model's replies alone: some of their parts, for usage only the headings."""


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
    turn: int | None = None


class StepPage(Record):
    """Some steps of a trajectory, and where they stand in it."""

    steps: tuple[TurnStep, ...]
    first: int
    total: int
    kinds: tuple[str, ...]


class TurnPage(Record):
    """One turn: its steps, and what it did to files."""

    turn: int
    steps: tuple[TurnStep, ...]
    changes: tuple["Change", ...]
    more: bool
    turns: tuple[int, ...]


class TurnSummary(Record):
    """A turn in a few lines, to stand beside another attempt's."""

    turn: int
    said: str
    did: tuple[str, ...]
    result: str
    files: tuple[str, ...]


class FileName(Record):
    """A file of a submission."""

    path: str
    bytes: int


class Node(Record):
    """A folder or a file in a tree of files; `file` is None for a folder."""

    name: str
    file: FileName | None = None
    below: tuple["Node", ...] = ()


class Excerpt(Record):
    """What a log says of one test: its last lines, and the byte where it begins."""

    path: str
    start: int
    text: str


class Change(Record):
    """A file that differs between two submissions: what happened to it, and lines, each with its mark."""

    path: str
    what: str
    lines: tuple[str, ...] = ()
    more: int = 0


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
    parts = OF_REPLIES.get(kind)
    with file:
        places, kinds = _places(file, kind if parts is None else "reply")
        first = max(0, min(first, max(len(places) - 1, 0)))
        shown = [
            _step(number, _line(file, start, length))
            for number, start, length in islice(places, first, first + STEPS_SHOWN)
        ]
    if parts is not None:
        kept = [step.but(parts=tuple(part for part in step.parts if part.kind in parts)) for step in shown]
        shown = [step for step in kept if step.parts or not parts]
    names = sorted(kinds | (OF_REPLIES.keys() if "reply" in kinds else set()), key=_order)
    return StepPage(steps=tuple(shown), first=first, total=len(places), kinds=tuple(names))


def saying(attempt: AttemptFolder) -> str:
    """Return the end of what the attempt's model says just now; empty: nothing."""
    try:
        with open_regular(attempt.saying_file) as file:
            return plain(file.read(LOG_BYTES).decode(errors="replace"))
    except OSError:
        return ""


def turns(attempt: AttemptFolder) -> tuple[int, ...]:
    """Return the numbers of the turns that a trajectory has."""
    with _with_turns(attempt) as (_, known):
        return tuple(sorted(number for number in known if number))


def turn_page(attempt: AttemptFolder, turn: int) -> TurnPage | None:
    """Return what was done in *turn*; None where there is no such turn."""
    with _with_turns(attempt) as (file, known):
        if file is None or turn not in known:
            return None
        lines = [(number, _line(file, start, length)) for number, start, length in known[turn]]
        first = known[turn][0][0]
        texts = Texts(_changes_until(file, first))
    found: list[Change] = []
    more = False
    for _, line in lines:
        if (changed := changes_of(line)) is not None:
            found += _shown_changes(texts, changed)
            more = more or changed.more
    steps_of = tuple(_step(number, line) for number, line in lines if line.get("kind") != "workspace")
    numbers = tuple(sorted(number for number in known if number))
    return TurnPage(turn=turn, steps=steps_of, changes=tuple(found), more=more, turns=numbers)


@contextmanager
def _with_turns(attempt: AttemptFolder) -> Iterator[tuple[Any, dict[int, list[tuple[int, int, int]]]]]:
    """Yield the opened trajectory, and where its turns lie (`_turns`); None and none where there is none."""
    try:
        opened = open_regular(attempt.trajectory_file)
    except OSError:
        yield None, {}
        return
    with opened as file:
        yield file, _turns(file)


def _turns(file: Any) -> dict[int, list[tuple[int, int, int]]]:
    """Return the number, start and length of each line by turn, 0 before the first; the last try's turn counts."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    turn, start = 0, 0
    for number, line in enumerate(file):
        if not line.endswith(b"\n"):
            break
        said = _TURN.search(line[:_TURN_WITHIN])
        if said and int(said[1]) != turn:
            turn = int(said[1])
            found.pop(turn, None)
        found.setdefault(turn, []).append((number, start, len(line)))
        start += len(line)
    return found


def turn_in(before: bytes, line: bytes) -> int | None:
    """Return the turn that a *line* belongs to, after the lines *before* it; None before the first."""
    own = _TURN.search(line[:_TURN_WITHIN])
    at = before.rfind(b'"turn"')
    said = own or (_TURN.match(before[at : at + 40]) if at >= 0 else None)
    return int(said[1]) if said else None


def _changes_until(file: Any, end: int) -> Iterator[dict[str, Any]]:
    """Yield the steps `workspace` before the line with the number *end*."""
    file.seek(0)
    places, _ = _places(file, "workspace")
    for number, start, length in places:
        if number < end:
            yield _line(file, start, length)


def _shown_changes(texts: Texts, changed: TurnChanges) -> Iterator["Change"]:
    for one in texts.take(changed):
        if one.change.left_out:
            size = f", {one.change.bytes} bytes" if one.change.bytes else ""
            yield Change(path=one.change.path, what=f"{one.change.what}, {one.change.left_out}{size}")
        else:
            yield _differing(one.change.path, one.change.what, one.before or "", one.after or "")


def texts_after(attempt: AttemptFolder, turn: int) -> dict[str, str | None] | None:
    """Return the files that the agent had touched after *turn*, by path; their text, or None where it is not kept.

    Seeds that it left alone are not among them. None where the trajectory does not have that turn.
    """
    with _with_turns(attempt) as (file, known):
        if file is None or turn not in known:
            return None
        texts = Texts(_changes_until(file, known[turn][-1][0] + 1))
    return {path: texts.known[path] for path in sorted(texts.there)}


def summaries(attempt: AttemptFolder, first: int, count: int) -> list[TurnSummary]:
    """Return turns in a few lines each, *count* from the number *first* on."""
    found = []
    for turn in [number for number in turns(attempt) if number >= first][:count]:
        page = turn_page(attempt, turn)
        assert page is not None
        parts = [part for step in page.steps for part in step.parts]
        of = {kind: [part.text for part in parts if part.kind == kind] for kind in ("text", "call", "output")}
        found.append(
            TurnSummary(
                turn=turn,
                said="\n".join(of["text"])[:_SUMMED_UP],
                did=tuple(text[:_SUMMED_UP] for text in of["call"]),
                result="\n".join(of["output"])[-_SUMMED_UP:],
                files=tuple(f"{one.what} {one.path}" for one in page.changes),
            )
        )
    return found


def _order(kind: str) -> tuple[int, str]:
    known = ("message", "reply", *OF_REPLIES, "result")
    return (known.index(kind) if kind in known else len(known), kind)


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
    elif (changed := changes_of(step)) is not None:
        heading = f"turn {changed.turn}: files"
        parts = [_part("files", "\n".join(f"{one.what} {one.path}" for one in changed.files))]
    elif kind == "ended":
        heading, parts = f"ended: {step.get('outcome')}", [_part("text", step.get("detail"))]
    elif (reply := reply_of(step)) is not None:
        heading = f"turn {step.get('turn')}: model, {reply.usage.told(reply.cost_usd)}"
        calls = [_part("call", f"{call.name}: {call_text(call.arguments)}") for call in reply.message.tool_calls]
        parts = [_part("reasoning", reply.message.reasoning), _part("text", reply.message.content), *calls]
    shown = tuple(part for part in parts if part.text.strip())
    turn = step.get("turn")
    return TurnStep(
        number=number,
        kind=kind,
        at=str(step.get("at", ""))[11:19],
        heading=heading,
        parts=shown,
        turn=turn if isinstance(turn, int) and turn > 0 else None,
    )


def _part(kind: str, text: object) -> Part:
    words = "" if text is None else str(text)
    return Part(kind=kind, text=plain(words[:STEP_CHARACTERS]), cut=max(0, len(words) - STEP_CHARACTERS))


def plain(text: str) -> str:
    """Return *text* without a terminal's colours; what cannot be seen or turns words around is written out."""
    return _UNSEEN.sub(lambda found: printable(found[0]), _ANSI.sub("", text))


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


def tree(names: Sequence[FileName]) -> tuple[Node, ...]:
    """Return files as a tree, folders first."""
    folders: dict[str, Any] = {}
    for one in names:
        *above, name = one.path.split("/")
        here = folders
        for part in above:
            here = here.setdefault(part, {})
        here[name] = one
    return _nodes(folders)


def _nodes(folders: dict[str, Any]) -> tuple[Node, ...]:
    found = sorted(folders.items(), key=lambda item: (isinstance(item[1], FileName), item[0]))
    return tuple(
        Node(name=name, file=one) if isinstance(one, FileName) else Node(name=name, below=_nodes(one))
        for name, one in found
    )


def changes(before: AttemptFolder, after: AttemptFolder) -> tuple[list[Change], bool]:
    """Return the files in which the submission of *after* differs, and whether there are more than are shown.

    Of files over `FILE_BYTES`, length and beginning are compared.
    """
    sizes = [{one.path: one.bytes for one in files(attempt)[0]} for attempt in (before, after)]
    found: list[Change] = []
    room = _COMPARED_BYTES
    for path in sorted(
        sizes[0].keys() | sizes[1].keys(), key=lambda path: (sum(path not in one for one in sizes), path)
    ):
        if len(found) == _CHANGES_SHOWN or room < 0:
            return found, True
        pieces = [
            file_piece(attempt, path) if path in names else None
            for attempt, names in zip((before, after), sizes, strict=True)
        ]
        room -= sum(piece.end for piece in pieces if piece)
        if pieces[0] != pieces[1]:
            found.append(_change(path, *pieces))
    return found, False


def _change(path: str, before: "Piece | None", after: "Piece | None") -> Change:
    what = "added" if before is None else "removed" if after is None else "changed"
    if any(piece is not None and piece.binary for piece in (before, after)):
        return Change(path=path, what=f"{what}, no text")
    return _differing(path, what, before.text if before else "", after.text if after else "")


def _differing(path: str, what: str, before: str, after: str) -> Change:
    old, new = (plain(text).splitlines() for text in (before, after))
    if old and new and len(old) + len(new) > _COMPARED_LINES:
        return Change(path=path, what=f"{what}, too long to compare line by line")
    lines = [line[:FILE_LINE] for line in difflib.unified_diff(old, new, lineterm="")][2:]
    return Change(
        path=path, what=what, lines=tuple(lines[:_CHANGED_LINES]), more=max(0, len(lines) - _CHANGED_LINES)
    )


def excerpts(attempt: AttemptFolder) -> dict[str, Excerpt]:
    """Return the part of the counted try's logs about each test, by pytest's name of it."""
    found: dict[str, Excerpt] = {}
    for name in logs(attempt):
        if not name.path.startswith("logs/") or _TRY.match(name.path) or name.path == CHECK_LOG:
            continue
        data, _, _ = _read(attempt.logs, name.path.removeprefix("logs/"), 0, _SECTIONS_WITHIN) or (b"", 0, 0)
        heads = list(_SECTION.finditer(data))
        for head, after in zip_longest(heads, heads[1:]):
            if head[1]:
                body = data[head.end() : after.start() if after else None].strip(b"\n").split(b"\n")
                inner = max((at for at, line in enumerate(body) if _OF_PYTEST.search(line)), default=-2) + 2
                said = b"\n".join(line[:FILE_LINE] for line in body[inner:][-_SECTION_LINES:])
                named = head[1].decode(errors="replace")
                found.setdefault(named, Excerpt(path=name.path, start=head.start(), text=_text(said)))
    return found


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
        if name.path == CHECK_LOG:
            place = (10**9 - 1, "checks of the count, with changed tests")
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
    if (read := _read(folder, path, start, size)) is None:
        return None
    data, start, total = read
    return Piece(text=_text(data), start=start, end=start + len(data), total=total, binary=b"\0" in data[:8192])


def _text(data: bytes) -> str:
    return plain(data.decode("utf-8", errors="replace"))


def _read(folder: Path, path: str, start: int, size: int) -> tuple[bytes, int, int] | None:
    """Return a piece of a file, where it begins, and the file's length; None for what is no file in *folder*."""
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
        return file.read(size), start, total


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

    light = HtmlFormatter(style="xcode").get_style_defs("pre.code")
    dark = HtmlFormatter(style="monokai").get_style_defs("pre.code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\npre.code{{background:none}}\n"


def pages(total: int, first: int, size: int) -> Sequence[tuple[int, int]]:
    """Return the first number of each page and its place, as few as fit a line: the ends and what is near."""
    count = max(1, -(-total // size))
    here = first // size
    near = {0, count - 1, *range(max(0, here - 2), min(count, here + 3))}
    return [(page * size, page + 1) for page in sorted(near)]


def listed(turns: Sequence[int], here: int) -> tuple[int, ...]:
    """Return as many turns as fit above a page: all, or the ends and what is near *here*."""
    if len(turns) <= TURNS_LISTED:
        return tuple(turns)
    return tuple(turn for turn in turns if turn in (turns[0], turns[-1]) or abs(turn - here) <= TURNS_LISTED // 4)


def beside(
    one: AttemptFolder, other: AttemptFolder, first: int
) -> list[tuple[TurnSummary | None, TurnSummary | None]]:
    """Return the turns of two attempts side by side, a page of them from *first* on."""
    sides = [{turn.turn: turn for turn in summaries(attempt, first, STEPS_SHOWN)} for attempt in (one, other)]
    numbers = sorted(turn for turn in set().union(*sides) if turn < first + STEPS_SHOWN)
    return [(sides[0].get(turn), sides[1].get(turn)) for turn in numbers]


def opinions(run: Path, attempt: AttemptKey) -> list[Judgement]:
    """Return what judges said last of *attempt*, by matter, judge and question. Raises `UsageError`."""
    said = {(one.of, one.judge, one.question): one for one in read_judgements(run) if one.attempt == attempt}
    return list(said.values())
