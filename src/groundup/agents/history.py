"""How a workspace stood after each turn, as steps `workspace` of a trajectory: `turn`, `files` and `more`.

Each of `files` has a path and what happened to it. An added text is whole (`text`); a changed one has `edits`:
where each begins, how many lines it replaces, and by what. A seed that the agent changes first brings its own text
along (`before`). What is no text, or too much, is named with its size. Untouched seeds are in no step.

The tree is a stranger's, who may be writing into it: nothing follows a link, and all sizes have limits. Caches are
left out: `.git`, `node_modules`, `__pycache__`, and folders that say they are a cache or a virtual environment.
"""

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from groundup.agents.trajectories import Step
from groundup.domain.records import Record
from groundup.trees.walking import FOLDER

WORKSPACE_STEP = "workspace"
FILE_BYTES = 256 * 1024
"""Longer files are named and not kept."""
KEPT_CHARACTERS = 16 * 1024 * 1024
"""Of texts in one attempt's steps; what comes later is named only."""
_FILES_A_TURN = 200
_FILES_SEEN = 20_000
_DEPTH = 32
_COMPARED_LINES = 2_000
"""Of longer differences all lines from the first to the last are kept, for comparing them takes too long."""
_CACHES = frozenset({".git", "node_modules", "__pycache__"})
_CACHE_MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})

Signature = tuple[int, int, int, int]
"""Of a file: its number, size, and when content and properties changed."""


class LineEdit(Record):
    """Lines that take the place of others; `start` counts lines of the text before all edits, from 0."""

    start: int = Field(ge=0)
    lines: int = Field(ge=0)
    text: str


class FileChange(Record):
    """What a turn did to one file."""

    path: str
    what: Literal["added", "changed", "removed"]
    text: str | None = Field(default=None, description="the whole text after the turn")
    edits: tuple[LineEdit, ...] | None = Field(
        default=None, description="what turns the text before into that after"
    )
    before: str | None = Field(default=None, description="a seed's text, where the agent changes it first")
    bytes: int | None = None
    left_out: str | None = Field(default=None, description="why neither text nor edits are kept")


class TurnChanges(Record):
    """What one turn did to the workspace."""

    turn: int
    files: tuple[FileChange, ...]
    more: bool = Field(default=False, description="whether there is more than was kept or looked at")


class FileTurn(Record):
    """A file that a turn touched, with its text before and after; None where there is no text."""

    change: FileChange
    before: str | None
    after: str | None


class Texts:
    """The files of a workspace as far as steps tell: those that the agent touched."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.known: dict[str, str | None] = {}
        """Path -> text. None: it is not there any more, or its text was not kept."""
        self.there: set[str] = set()
        self.characters = 0
        for step in steps:
            if (changes := changes_of(step)) is not None:
                self.take(changes)

    def take(self, changes: TurnChanges) -> list[FileTurn]:
        """Go on to the state after a turn; return what it touched."""
        found = []
        for one in changes.files:
            before = self.known.get(one.path, one.before)
            after = one.text if one.edits is None else edited(before or "", one.edits)
            self.known[one.path] = after
            (self.there.discard if one.what == "removed" else self.there.add)(one.path)
            self.characters += _length(one)
            found.append(FileTurn(change=one, before=before, after=after))
        return found


def _length(change: FileChange) -> int:
    edits = sum(len(edit.text) for edit in change.edits or ())
    return len(change.text or "") + len(change.before or "") + edits


def changes_of(step: Step) -> TurnChanges | None:
    """Return what a step `workspace` says; None for other steps, and for one that cannot be read."""
    if step.get("kind") != WORKSPACE_STEP:
        return None
    try:
        return TurnChanges.model_validate({name: step[name] for name in TurnChanges.model_fields if name in step})
    except ValidationError:
        return None


def edits_between(before: str, after: str) -> tuple[LineEdit, ...]:
    """Return what turns *before* into *after*, line by line."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _same(zip(old, new, strict=False))
    tail = _same(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old) + len(new) > _COMPARED_LINES:
        return (LineEdit(start=head, lines=len(old), text="".join(new)),)
    blocks = difflib.SequenceMatcher(None, old, new).get_opcodes()
    return tuple(
        LineEdit(start=head + start, lines=end - start, text="".join(new[first:last]))
        for word, start, end, first, last in blocks
        if word != "equal"
    )


def _same(pairs: Iterable[tuple[str, str]]) -> int:
    """Return how many pairs at the beginning are of equals."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def edited(text: str, edits: Iterable[LineEdit]) -> str:
    """Return *text* after *edits*."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        lines[edit.start : edit.start + edit.lines] = [edit.text]
    return "".join(lines)


class WorkspaceHistory:
    """Finds what each turn did to *workspace*, in which the seeds lie now. It blocks.

    *recorded* are the steps of earlier tries: what is told next is what differs from the state that they end with.
    *seeds* returns a folder with the seeds as they were; it is asked only once one of them changes.
    """

    def __init__(self, workspace: Path, recorded: Iterable[Step], seeds: Callable[[], Path]) -> None:
        self._workspace = workspace
        self._seeds = seeds
        self._texts = Texts(recorded)
        self._seen, _ = _signatures(workspace)
        self._seeded = frozenset(self._seen)
        self._unchecked = set(self._texts.known)
        """What earlier tries told of: it is compared whatever its signature says."""

    def after(self, turn: int) -> dict[str, JsonValue] | None:
        """Return the fields of a step `workspace` for *turn*; None where it changed nothing."""
        there, whole = _signatures(self._workspace)
        touched = [path for path, seen in there.items() if self._seen.get(path) != seen or path in self._unchecked]
        # What is beyond the limit differs at the next turn, too, and is told then.
        found = [change for path in touched[:_FILES_A_TURN] if (change := self._changed(path)) is not None]
        self._seen.update((path, there[path]) for path in touched[:_FILES_A_TURN])
        self._unchecked.difference_update(touched[:_FILES_A_TURN])
        if whole:
            gone = sorted((self._seeded | self._texts.known.keys()) - there.keys())
            found += [FileChange(path=path, what="removed") for path in gone if self._was_there(path)]
            for path in gone:
                self._seen.pop(path, None)
        if not found:
            return None
        changes = TurnChanges(turn=turn, files=tuple(found), more=not whole or len(touched) > _FILES_A_TURN)
        self._texts.take(changes)
        return changes.model_dump(mode="json", exclude_defaults=True)

    def _was_there(self, path: str) -> bool:
        return path in self._texts.there if path in self._texts.known else path in self._seeded

    def _changed(self, path: str) -> FileChange | None:
        what: Literal["added", "changed"] = "changed" if self._was_there(path) else "added"
        size, text = _text(self._workspace, path)
        if text is None:
            return FileChange(path=path, what=what, bytes=size, left_out=_why_left_out(size))
        seed = path in self._seeded and path not in self._texts.known
        before = _text(self._seeds(), path)[1] if seed else self._texts.known.get(path)
        if what == "changed" and before == text:
            return None
        change = FileChange(path=path, what=what, text=text, before=before if seed else None)
        if what == "changed" and before is not None:
            edits = edits_between(before, text)
            if sum(len(edit.text) for edit in edits) < len(text):
                change = change.but(text=None, edits=edits)
        if self._texts.characters + _length(change) > KEPT_CHARACTERS:
            return FileChange(path=path, what=what, bytes=size, left_out="more than is kept of one attempt")
        return change


def _why_left_out(size: int) -> str:
    return f"longer than {FILE_BYTES // 1024} KiB" if size > FILE_BYTES else "no text"


def _signatures(root: Path) -> tuple[dict[str, Signature], bool]:
    """Return the files below *root*, and whether these are all."""
    found: dict[str, Signature] = {}
    try:
        descriptor = os.open(root, FOLDER)
    except OSError:
        return found, False
    whole = True
    try:
        for path, signature in _files(descriptor, "", 0):
            if signature is None or len(found) == _FILES_SEEN:
                whole = False
                if signature is not None:
                    break
            else:
                found[path] = signature
    finally:
        os.close(descriptor)
    return found, whole


def _files(folder: int, below: str, depth: int) -> Iterator[tuple[str, Signature | None]]:
    """Yield the files of an open folder by path; no signature for a folder that cannot be looked through."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        yield below, None
        return
    if depth and not _CACHE_MARKS.isdisjoint(names):
        return
    for name in names:
        path = f"{below}{name}"
        try:
            path.encode()
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (OSError, UnicodeEncodeError):  # gone meanwhile, or no page could name it
            continue
        if stat.S_ISREG(found.st_mode):
            yield path, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        elif stat.S_ISDIR(found.st_mode) and name not in _CACHES:
            if depth == _DEPTH:
                yield path, None
                continue
            try:
                inner = os.open(name, FOLDER, dir_fd=folder)
            except OSError:
                yield path, None
                continue
            try:
                yield from _files(inner, f"{path}/", depth + 1)
            finally:
                os.close(inner)


def _text(root: Path, path: str) -> tuple[int, str | None]:
    """Return the size of a file below *root*, and its text; None: it has none, is too long, or is gone."""
    *folders, name = path.split("/")
    opened: list[int] = []
    try:
        opened.append(os.open(root, FOLDER))
        for folder in folders:
            opened.append(os.open(folder, FOLDER, dir_fd=opened[-1]))
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opened.append(os.open(name, flags, dir_fd=opened[-1]))
        status = os.fstat(opened[-1])
        if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES:
            return status.st_size, None
        with os.fdopen(opened.pop(), "rb") as file:
            content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES or b"\0" in content:
            return len(content), None
        return len(content), content.decode()
    except (OSError, UnicodeDecodeError):
        return 0, None
    finally:
        for descriptor in opened:
            os.close(descriptor)
