"""Changes to files as models write them: search and replace, unified diffs, and the form of `apply_patch`.

Line numbers are not believed, for models count badly: what a hunk takes away says where it belongs. A hunk whose
lines are not there does not apply.

A submission that is a diff is read elsewhere, by `suites/dibench/patches.py`: that one counts and refuses what is
damaged, as published graders do. One reader for both would take from graders what it gives to models.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from groundup.agents.delimited import Enclosed, enclosed

Read = Callable[[str], bytes | None]
"""Returns what a file holds; None where there is none."""


_LONGEST_BEFORE = 2_000
"""Characters before a block of search and replace in which its file may be named."""


class UnfitPatchError(Exception):
    """A patch that does not apply; the text says to which file."""


class _Change(NamedTuple):
    """What takes whose place in a file. Nothing before: the file is new, or the lines come at its end."""

    path: str
    before: str
    after: str
    source: str = ""
    """Under which name the file is there, where the patch renames it."""


_SEARCH = re.compile(
    r"^(?:[ \t]*(?:`{3,}+|~{3,}+)[^\n]*\n)?+<{5,9} ?(?:SEARCH|ORIGINAL|HEAD|OLD|CURRENT|BEFORE)\b[^\n]*\n"
    r"(?::start_line:\s*\d+\n)?(?:-{5,9}\n)?",
    re.MULTILINE,
)
_SEARCH_ENDS = r"^>{5,9} ?\w[^\n]*$"
_SEARCH_MIDDLE = re.compile(r"^={5,9}[ \t]*\n", re.MULTILINE)
_PATH_LINE = re.compile(r"[\w./@+-]+")
_DIFF = re.compile(r"^--- (\S+)[^\n]*\n\+\+\+ (\S+)[^\n]*\n(?=@@)", re.MULTILINE)
_PATCH = re.compile(r"^\*\*\* Begin Patch[ \t\r]*\n", re.MULTILINE)
_PATCH_ENDS = r"^\*\*\* End Patch"
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update) File: (.+)$", re.MULTILINE)


def is_patch(text: str) -> bool:
    return any(next(form, None) is not None for form in (_searches(text), _DIFF.finditer(text), _patches(text)))


def patched(text: str, read: Read) -> dict[str, str]:
    """Return the files as the patches of *text* leave them. Raises `UnfitPatchError`."""
    files: dict[str, str] = {}
    for change in _changes(text):
        now = files.get(change.path)
        if now is None:
            there = read(change.path) or read(change.source or change.path)
            now = None if there is None else there.decode(errors="replace")
        old = None if now is None else now.encode(errors="replace")
        files[change.path] = replaced(change.path, old, change.before, change.after)
    return files


def replaced(path: str, old: bytes | None, before: str, after: str) -> str:
    """Return *old* with *after* for *before*; ends of lines may differ in blanks. Raises `UnfitPatchError`."""
    text = None if old is None else old.decode(errors="replace")
    if not before.strip():
        return (text or "") + after
    if text is None:
        raise UnfitPatchError(f"the patch of {path} does not apply: there is no such file")
    if before in text:
        return text.replace(before, after, 1)
    lines, wanted = text.splitlines(keepends=True), [line.rstrip() for line in before.splitlines()]
    for at in range(len(lines) - len(wanted) + 1):
        if [line.rstrip() for line in lines[at : at + len(wanted)]] == wanted:
            return "".join([*lines[:at], after, *lines[at + len(wanted) :]])
    raise UnfitPatchError(f"the patch of {path} does not apply: {before.strip()[:80]!r} is not in it")


def _searches(text: str) -> Iterator[Enclosed]:
    """Yield the blocks of search and replace."""
    for block in enclosed(text, _SEARCH, lambda _: _SEARCH_ENDS, re.MULTILINE):
        if _SEARCH_MIDDLE.search(block.inside):
            yield block


def _patches(text: str) -> Iterator[Enclosed]:
    """Yield the patches in the form of `apply_patch`."""
    return enclosed(text, _PATCH, lambda _: _PATCH_ENDS, re.MULTILINE)


def _changes(text: str) -> Iterator[_Change]:
    path = None
    for search in _searches(text):
        # A further change of the same file says its path no more.
        path = _path_before(text[: search.opening.start()], search.opening[0]) or path
        if path is None:
            raise UnfitPatchError("the patch names no file")
        before, after = _SEARCH_MIDDLE.split(search.inside, maxsplit=1)
        yield _Change(path, before, after)
    for patch in _patches(text):
        files = [*_PATCH_FILE.finditer(patch.inside)]
        for file, ends in zip(files, [*(one.start() for one in files[1:]), len(patch.inside)], strict=False):
            body = patch.inside[file.end() + 1 : ends]
            hunks = [body] if file[1] == "Add" else re.split(r"^@@.*\n", body, flags=re.MULTILINE)
            yield from _hunks(file[2].strip(), hunks)
    starts = [*_DIFF.finditer(text)]
    for start, ends in zip(starts, [*(one.start() for one in starts[1:]), len(text)], strict=False):
        if start[2] == "/dev/null":
            continue  # what a patch takes away was seldom asked for
        body = re.split(
            r"^(?:```|~~~|diff --git |-- $|</)", text[start.end() : ends], maxsplit=1, flags=re.MULTILINE
        )[0]
        path = start[2].removeprefix("b/") if start[1].startswith("a/") or start[1] == "/dev/null" else start[2]
        hunks = re.split(r"^@@[^\n]*\n", body, flags=re.MULTILINE)
        yield from (change._replace(source=start[1].removeprefix("a/")) for change in _hunks(path, hunks))


def _hunks(path: str, hunks: list[str]) -> Iterator[_Change]:
    for hunk in hunks:
        lines = [line for line in hunk.splitlines() if not line.startswith("\\")]
        while lines and not lines[-1]:
            lines.pop()
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("-", " ", ""))
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("+", " ", ""))
        if lines:
            yield _Change(path, before, after)


def _path_before(text: str, opening: str) -> str | None:
    """Return the path on the fence around a block of search and replace, or on one of the lines before it."""
    fence = re.match(r"[ \t]*[`~]{3,}(?:[\w+-]*[ \t:]+|(?=path=))(\S+)\n", opening)
    if fence is not None and "." in fence[1]:
        return fence[1].removeprefix("path=").strip("\"'")
    for line in reversed(text[-_LONGEST_BEFORE:].rstrip().splitlines()[-4:]):
        words = line.strip().strip("`*#: ").removeprefix("path=").removeprefix("File: ").strip("`*")
        if _PATH_LINE.fullmatch(words) and re.search(r"[./]\w", words):  # "Here." is the end of a sentence
            return words
    return None
