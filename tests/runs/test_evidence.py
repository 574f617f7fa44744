"""`runs.evidence`: what lies in an attempt's folder comes in pieces, and no further than the folder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.runs import evidence
from groundup.runs.evidence import FileName, Node, Piece
from groundup.store.attempts import AttemptFolder

CALL = {"id": "1", "name": "bash", "arguments": json.dumps({"command": "ls"})}
BEGAN = {"kind": "began", "at": "2026-01-01T00:00:01Z", "agent": "loop", "version": "1", "model": "m"}


def attempt_with(folder: Path, files: Mapping[str, str | bytes]) -> AttemptFolder:
    """Return an attempt with these *files* in its folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return AttemptFolder(folder)


def turn(number: int, text: str, *files: Mapping[str, object]) -> list[dict[str, object]]:
    """Return what a turn leaves in a trajectory: a reply that calls a program, its result, and *files*."""
    message = {"role": "assistant", "content": text, "reasoning": f"why {text}", "tool_calls": [CALL]}
    usage = {"input_tokens": 3, "output_tokens": 4}
    return [
        {"kind": "reply", "at": "", "turn": number, "message": message, "finish": "stop", "usage": usage},
        {"kind": "result", "at": "", "turn": number, "name": "bash", "content": f"did {text}", "seconds": 2},
        {"kind": "workspace", "at": "", "turn": number, "files": list(files)},
    ]


def played(folder: Path, *steps: Mapping[str, object], torn: str = "") -> AttemptFolder:
    """Return an attempt with this trajectory."""
    return attempt_with(folder, {"trajectory.jsonl": "".join(json.dumps(step) + "\n" for step in steps) + torn})


ADDED = {"path": "a.py", "what": "added", "text": "one\n"}
CHANGED = {"path": "a.py", "what": "changed", "edits": [{"start": 0, "lines": 1, "text": "two\n"}]}
REMOVED = {"path": "a.py", "what": "removed"}
LARGE = {"path": "b.bin", "what": "added", "left_out": "no text", "bytes": 7}


def test_a_turn_has_its_steps_and_what_it_did_to_files(tmp_path: Path) -> None:
    """Whatever other turns did; a line that was not written to its end is none."""
    attempt = played(
        tmp_path,
        BEGAN,
        *turn(1, "a", ADDED),
        *turn(2, "b", CHANGED, LARGE),
        *turn(3, "c", REMOVED),
        torn='{"turn": 4',
    )
    page = evidence.turn_page(attempt, 2)

    assert page is not None
    assert (evidence.turns(attempt), page.turns, page.turn, page.more) == ((1, 2, 3), (1, 2, 3), 2, False)
    assert [(step.number, step.kind, step.turn) for step in page.steps] == [(4, "reply", 2), (5, "result", 2)]
    reply, result = page.steps
    assert (reply.heading, result.heading) == ("turn 2: model, 3 + 4 tokens", "turn 2: bash, 2 s")
    assert [(part.kind, part.text) for part in reply.parts] == [
        *(("reasoning", "why b"), ("text", "b"), ("call", "bash: ls")),
    ]
    assert [(one.path, one.what, one.lines) for one in page.changes] == [
        ("a.py", "changed", ("@@ -1 +1 @@", "-one", "+two")),
        ("b.bin", "added, no text, 7 bytes", ()),
    ]
    assert evidence.turn_page(attempt, 4) is None
    after = [evidence.texts_after(attempt, number) for number in (1, 2, 3, 4)]
    assert after == [{"a.py": "one\n"}, {"a.py": "two\n", "b.bin": None}, {"b.bin": None}, None]
    nothing = AttemptFolder(tmp_path / "none")
    assert (evidence.turns(nothing), evidence.turn_page(nothing, 1), evidence.texts_after(nothing, 1)) == (
        *((), None, None),
    )


def test_what_began_before_a_turn_is_not_its_change(tmp_path: Path) -> None:
    """Also where files are the first that it says; that more changed than was kept is told."""
    workspace = {"kind": "workspace", "at": "", "turn": 2, "files": [CHANGED], "more": True}
    attempt = played(tmp_path, *turn(1, "a", ADDED), workspace, {**workspace, "more": False, "files": []})
    page = evidence.turn_page(attempt, 2)

    assert page is not None
    assert (page.steps, page.more, page.changes[0].lines[1:]) == ((), True, ("-one", "+two"))


@pytest.mark.parametrize(
    ("before", "line", "found"),
    [
        (b"", b'{"kind": "reply", "turn": 3}', 3),
        (b'{"turn": 1}\n{"turn": 2}\n', b'{"kind": "began"}', 2),
        (b'{"turn": 2}\n', b'{"turn": 3}', 3),
        (b'{"kind": "began"}\n', b'{"kind": "message"}', None),
        (b'{"turn": "x"}\n', b"{}", None),
    ],
)
def test_a_line_belongs_to_the_turn_that_was_named_last(before: bytes, line: bytes, found: int | None) -> None:
    """Its own, or that of the nearest line before it."""
    assert evidence.turn_in(before, line) == found


def test_what_a_model_says_just_now_is_read_to_a_bound(tmp_path: Path) -> None:
    """Nothing where it says nothing."""
    assert evidence.saying(AttemptFolder(tmp_path)) == ""
    assert evidence.saying(attempt_with(tmp_path, {"saying.txt": "x" * 70_000})) == "x" * 65_536


def test_the_last_try_of_a_turn_counts(tmp_path: Path) -> None:
    """A program that starts again counts its turns from 1."""
    attempt = played(tmp_path, *turn(1, "a"), *turn(2, "b"), *turn(1, "anew"))
    assert [(one.turn, one.said) for one in evidence.summaries(attempt, 0, 9)] == [(1, "anew"), (2, "b")]


def test_turns_are_summed_up_and_stand_side_by_side(tmp_path: Path) -> None:
    """The beginning of what was said, the end of what came of it, and which files; one side may be longer."""
    long = played(
        tmp_path / "long", *(step for number in range(1, 31) for step in turn(number, f"{number}", ADDED))
    )
    short = played(tmp_path / "short", *turn(1, "x" * 500), *turn(21, "late"))
    (one,) = evidence.summaries(short, 1, 1)

    assert (one.said, one.did, one.result, one.files) == ("x" * 400, ("bash: ls",), "x" * 400, ())
    assert [one.turn for one in evidence.summaries(long, 5, 3)] == [5, 6, 7]
    assert evidence.summaries(long, 5, 1)[0].files == ("added a.py",)
    rows = evidence.beside(long, short, 1)
    assert [(a and a.turn, b and b.turn) for a, b in rows] == [
        (1, 1),
        *((number, None) for number in range(2, 21)),
    ]
    assert [b.turn for _, b in evidence.beside(long, short, 21) if b] == [21]


def test_steps_come_twenty_at_a_time_and_by_their_kind(tmp_path: Path) -> None:
    """Replies by their parts, too; what is no step is called damaged."""
    attempt = played(tmp_path, BEGAN, *(step for number in range(30) for step in turn(number, "a")), torn="[]\n{")
    whole, last = evidence.steps(attempt), evidence.steps(attempt, 1000)

    assert (whole.first, len(whole.steps), whole.total) == (0, 20, 92)
    assert (last.first, [step.kind for step in last.steps]) == (91, ["damaged"])
    assert whole.kinds == ("reply", "calls", "reasoning", "usage", "result", "?", "began", "workspace")
    assert (whole.steps[0].heading, whole.steps[0].at) == ("loop 1, model m", "00:00:01")
    replies, calls, usage = (evidence.steps(attempt, 20, kind) for kind in ("reply", "calls", "usage"))
    assert [page.total for page in (replies, calls, usage)] == [30] * 3
    assert [page.steps[0].number for page in (replies, calls, usage)] == [61] * 3
    assert [{part.kind for part in page.steps[0].parts} for page in (replies, calls, usage)] == [
        *({"reasoning", "text", "call"}, {"call"}, set()),
    ]
    assert evidence.steps(attempt, -5).steps == whole.steps
    for nothing in (AttemptFolder(tmp_path / "none"), played(tmp_path / "empty")):
        assert (evidence.steps(nothing, 5).first, evidence.steps(nothing).total) == (0, 0)


def test_what_cannot_be_seen_is_written_out_and_what_is_long_is_cut(tmp_path: Path) -> None:
    """Colours of a terminal go; the number of characters left out is told."""
    attempt = played(
        tmp_path,
        {
            "kind": "message",
            "at": "",
            "role": "user",
            "content": "\x1b[31mred\x1b[0m \u202eturned\r\n" + "x" * 30_000,
        },
        {"kind": "other", "at": "", "value": 1},
    )
    message, other = evidence.steps(attempt).steps
    (text,) = message.parts

    assert text.text.startswith("red \\u202eturned\nx")
    assert text.cut == 10_000 + len("\x1b[31mred\x1b[0m \u202eturned\r\n")
    assert (other.heading, other.parts[0].text) == ("other", '{\n "value": 1\n}')


def test_files_of_a_submission_are_listed_and_no_link_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders come first in the tree; neither what lies too deep nor what no address can name is there."""
    names = {"b.py": "1", "a/z.py": "22", "a/y/x.py": "", f"{'d/' * 32}kept": "", f"{'d/' * 33}lost": ""}
    attempt = attempt_with(tmp_path, {f"submission/{name}": text for name, text in names.items()})
    (attempt.submission / "out").symlink_to("/etc")
    (attempt.submission / os.fsdecode(b"a/\xff")).touch()
    found, more = evidence.files(attempt)

    kept = sorted(set(names) - {f"{'d/' * 33}lost"})
    assert (found, more) == ([FileName(path=path, bytes=len(names[path])) for path in kept], False)
    for most, is_more in ((len(kept), False), (len(kept) - 1, True)):
        monkeypatch.setattr(evidence, "FILES_SHOWN", most)
        shown, more = evidence.files(attempt)
        assert (len(shown), more) == (most, is_more)
    x, z = FileName(path="a/y/x.py", bytes=0), FileName(path="a/z.py", bytes=2)
    nodes = evidence.tree([FileName(path="b.py", bytes=1), z, x])
    assert nodes == (
        Node(name="a", below=(Node(name="y", below=(Node(name="x.py", file=x),)), Node(name="z.py", file=z))),
        Node(name="b.py", file=FileName(path="b.py", bytes=1)),
    )


@pytest.mark.parametrize(
    "path", ["", "../secret", "/etc/passwd", "out/secret", "link", "a", "none", "\0", "x" * 5000]
)
def test_nothing_outside_of_the_submission_is_read(tmp_path: Path, path: str) -> None:
    """No path and no link leads out, and a folder is no file."""
    attempt = attempt_with(tmp_path / "attempt", {"submission/a/b.py": "text", "secret": "", "../secret": ""})
    (attempt.submission / "out").symlink_to("..")
    (attempt.submission / "link").symlink_to("a/b.py")

    assert evidence.file_piece(attempt, path) is None
    assert evidence.file_piece(attempt, "a/b.py") == Piece(text="text", start=0, end=4, total=4)


@pytest.mark.parametrize(
    ("start", "begins", "ends"),
    [
        (0, 0, 65536),
        (69_990, 69_990, 70_000),
        (-10, 69_990, 70_000),
        (-80_000, 0, 65536),
        (80_000, 70_000, 70_000),
    ],
)
def test_a_log_is_read_from_either_end(tmp_path: Path, start: int, begins: int, ends: int) -> None:
    """A piece of at most 64 KB; a graders' log and an agent's."""
    attempt = attempt_with(tmp_path, {"logs/tests.txt": "x" * 70_000, "agent/out.txt": b"\0", "other/log": ""})
    piece = evidence.log_piece(attempt, "logs/tests.txt", start)
    agents = evidence.log_piece(attempt, "agent/out.txt", 0)

    assert piece == Piece(text="x" * (ends - begins), start=begins, end=ends, total=70_000)
    assert agents is not None
    assert agents.binary
    assert evidence.log_piece(attempt, "other/log", 0) is None


def test_logs_stand_below_whose_they_are(tmp_path: Path) -> None:
    """The agent's, those of tries that were repeated in their order, checks, and the try that counts."""
    names = ["logs/try-10/a", "logs/try-2/a", "logs/tests.txt", "logs/check.txt", "agent/out.txt"]
    attempt = attempt_with(tmp_path, dict.fromkeys(names, ""))

    assert [
        (heading, [log.path for log in found]) for heading, found in evidence.by_try(evidence.logs(attempt))
    ] == [
        ("agent", ["agent/out.txt"]),
        ("try 2, repeated", ["logs/try-2/a"]),
        ("try 10, repeated", ["logs/try-10/a"]),
        ("checks of the count, with changed tests", ["logs/check.txt"]),
        ("the try that counts", ["logs/tests.txt"]),
    ]


def test_each_test_finds_its_part_of_the_log(tmp_path: Path) -> None:
    """Of the try that counts, the last twelve lines below the frames of pytest's own."""
    trace = '  File "/x/_pytest/python.py", line 1\n    call()\nE   assert 1 == 2\n'
    long = "".join(f"line {number}\n" for number in range(20))
    log = f"==== FAILURES ====\n___ test_a ___\n{trace}___ test_b ___\n{long}==== 2 failed ====\nend\n"
    other = "___ test_c ___\nother\n"
    attempt = attempt_with(
        tmp_path, {"logs/tests.txt": log, "logs/try-1/tests.txt": other, "logs/check.txt": other, "agent/x": other}
    )
    found = evidence.excerpts(attempt)

    assert {name: (one.path, one.start, one.text) for name, one in found.items()} == {
        "test_a": ("logs/tests.txt", log.index("___ test_a"), "E   assert 1 == 2"),
        "test_b": ("logs/tests.txt", log.index("___ test_b"), "\n".join(long.splitlines()[-12:])),
    }


def test_two_submissions_differ_by_lines(tmp_path: Path) -> None:
    """What both have comes first; what is no text or very long is named, and what is equal is not."""
    old: dict[str, str | bytes] = {
        "a.py": "one\n",
        "same.py": "x",
        "data": b"\0",
        "long": "x\n" * 2000,
        "gone.py": "bye\n",
    }
    new: dict[str, str | bytes] = {
        "a.py": "two\n",
        "same.py": "x",
        "data": b"\0\1",
        "long": "y\n" * 2000,
        "new.py": "hi\n" * 500,
    }
    before, after = (
        attempt_with(tmp_path / side, {f"submission/{name}": text for name, text in files.items()})
        for side, files in (("old", old), ("new", new))
    )
    found, more = evidence.changes(before, after)

    assert not more
    assert [(one.path, one.what) for one in found] == [
        ("a.py", "changed"),
        ("data", "changed, no text"),
        ("long", "changed, too long to compare line by line"),
        ("gone.py", "removed"),
        ("new.py", "added"),
    ]
    assert (found[0].more, found[0].lines) == (0, ("@@ -1 +1 @@", "-one", "+two"))
    assert (len(found[4].lines), found[4].more) == (400, 101)
    many = attempt_with(tmp_path / "many", {f"submission/{number}": "" for number in range(41)})
    shown, more = evidence.changes(AttemptFolder(tmp_path / "none"), many)
    assert (len(shown), more) == (40, True)


def test_a_page_names_the_ends_and_what_is_near() -> None:
    """Of pages, and of turns where there are many."""
    assert evidence.pages(0, 0, 20) == [(0, 1)]
    assert evidence.pages(200, 100, 20) == [*((at * 20, at + 1) for at in (0, 3, 4, 5, 6, 7, 9))]
    assert evidence.pages(41, 40, 20) == [(0, 1), (20, 2), (40, 3)]
    assert evidence.listed(range(1, 61), 30) == tuple(range(1, 61))
    assert evidence.listed(range(1, 101), 50) == (1, *range(35, 66), 100)
