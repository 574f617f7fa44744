"""`groundup show`: each kind of step in words, and how an attempt ended."""

import json
from pathlib import Path

import pytest

from groundup.cli.attempts import attempt_key, print_text
from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from tests.cli.conftest import Groundup
from tests.store.folders import edit_line, write_run

CALL = {"id": "1", "name": "bash", "arguments": json.dumps({"command": "ls"})}
MESSAGE = {"role": "assistant", "content": "I look.", "reasoning": "Why not", "tool_calls": [CALL]}
USAGE = {"input_tokens": 1200, "output_tokens": 30}
REPLY = {"kind": "reply", "turn": 1, "message": MESSAGE, "finish": "stop", "usage": USAGE, "latency_s": 1.25}
STEPS = [
    {"kind": "began", "at": "2026-01-01T10:20:30Z", "agent": "loop", "version": "2", "model": None},
    {"kind": "message", "at": "2026-01-01T10:20:31Z", "role": "user", "content": "Write it.\x1b[2J"},
    {**REPLY, "at": "2026-01-01T10:20:32Z", "cost_usd": 0.5},
    {"kind": "result", "turn": 1, "name": "bash", "seconds": 2, "content": "\n".join(f"l{n}" for n in range(26))},
    {"kind": "workspace", "turn": 1, "files": [{"path": "a.py", "what": "added", "text": "x\n"}]},
    {**REPLY, "turn": 2, "message": {"role": "assistant", "content": "Done."}, "cached": True},
    {"kind": "odd", "at": "2026-01-01T10:20:33Z", "value": "ü"},
    {"kind": "ended", "outcome": "submitted", "detail": "enough"},
    {"kind": "ended", "outcome": "limit", "detail": ""},
]
SHOWN = """
── 10:20:30 loop 2, model none

── 10:20:31 user
Write it.\\x1b[2J

── 10:20:32 turn 1: the model, 1,200 + 30 tokens, $0.5000, 1.2 s
Why not
I look.
bash: ls

──  turn 1: bash did, in 2 s
{lines}

──  turn 1: files
added a.py

──  turn 2: the model, 1,200 + 30 tokens, 1.2 s, from the response cache
Done.

── 10:20:33 odd
{{
 "value": "ü"
}}

──  ended: submitted: enough

──  ended: limit
"""


@pytest.fixture
def run(tmp_path: Path, groundup: Groundup) -> Path:
    """A run of an agent whose second task has these steps."""
    run = write_run(tmp_path / "runs" / "one", "nl2repobench", made_by_agent=True)
    text = "".join(json.dumps(step) + "\n" for step in STEPS)
    (run / "attempts" / "sqlparse" / "0" / "trajectory.jsonl").write_text(text)
    return run


def test_each_step_is_shown_in_words(groundup: Groundup, run: Path) -> None:
    """With its time, without control characters, and shortened unless all is wanted."""
    some = [
        *(f"l{n}" for n in range(12)),
        "[... 2 lines; --full shows them ...]",
        *(f"l{n}" for n in range(14, 26)),
    ]
    ended = groundup("show", "one", "sqlparse")
    assert ended.code == 0
    assert ended.out == SHOWN.format(lines="\n".join(some))
    whole = groundup("show", "one", "sqlparse/0", "--full")
    assert whole.out == SHOWN.format(lines="\n".join(f"l{n}" for n in range(26)))
    handed_in, graded = ended.err.splitlines()
    size = len("NAME = 'sqlparse'\n")
    assert handed_in == f"groundup: handed in 1 file, {size} bytes, 7 turns, 900 + 90 tokens, $0.1900"
    assert graded == "groundup: graded 442/461: 19 did not pass"
    document = json.loads(groundup("show", "one", "sqlparse", "--json").out)
    assert (document["attempt"], document["steps"]) == ("sqlparse/0", STEPS)
    assert document["submission"]["effort"]["turns"] == 7


def test_attempts_are_listed(groundup: Groundup, run: Path) -> None:
    """With what each got and took; one whose records do not fit has no line."""
    ended = groundup("show", "one")
    rows = [line.split() for line in ended.out.splitlines() if "/" in line]
    assert (ended.code, [row[0] for row in rows]) == (0, ["six/0", "sqlparse/0", "toml/0"])
    assert [row[-3:] for row in rows] == [["submitted", "7", "990"]] * 3
    assert ended.out.splitlines()[0].strip() == "one: 3 attempts"
    assert ended.err == (
        "groundup: `groundup show one TASK` shows what one did, `groundup why one` what all lost\n"
    )
    edit_line(run, 2, lambda line: line["verdict"]["score"].update(numerator=461))
    ended = groundup("show", "one", "--json")
    lines = {one["attempt"]: one["line"] for one in json.loads(ended.out)["attempts"]}
    assert (ended.code, [*lines], lines["sqlparse/0"]) == (4, ["six/0", "sqlparse/0", "toml/0"], None)
    assert lines["toml/0"]["verdict"]["status"] == "graded"
    ended = groundup("show", "one", "sqlparse")
    assert ended.code == 4
    said = "groundup: sqlparse/0 has no score, for the records of its run do not fit: "
    assert ended.err.startswith(said)
    assert "handed in" not in ended.err


def test_logs_are_shown_try_by_try(groundup: Groundup, run: Path) -> None:
    """The one that counts last; all of a long one only where all is wanted."""
    attempt = run / "attempts" / "sqlparse" / "0"
    ended = groundup("show", "one", "sqlparse", "--logs")
    assert (ended.code, ended.err) == (2, f"groundup: {attempt} has no logs\n")
    for name, text in (("logs/tests.txt", "counts\n"), ("logs/try-1/tests.txt", "first\n"), ("agent/a", "own\n")):
        (attempt / name).parent.mkdir(parents=True, exist_ok=True)
        (attempt / name).write_text(text)
    assert groundup("show", "one", "sqlparse", "--logs") == (
        0,
        "\n──  agent: agent/a, 4 bytes\nown\n"
        "\n──  try 1, repeated: logs/try-1/tests.txt, 6 bytes\nfirst\n"
        "\n──  the try that counts: logs/tests.txt, 7 bytes\ncounts\n",
        "",
    )
    (attempt / "logs" / "tests.txt").write_text("x" * 70_000 + "\nend\n")
    assert "end" not in groundup("show", "one", "sqlparse", "--logs").out
    assert groundup("show", "one", "sqlparse", "--logs", "--full").out.endswith("xxx\nend\n")
    (attempt / "trajectory.jsonl").unlink()
    ended = groundup("show", "one", "sqlparse")
    assert ended.err.splitlines()[0] == (
        "groundup: sqlparse/0 has no trajectory: no agent worked on it in this run; --logs shows what was printed "
        "when it was graded"
    )


@pytest.mark.parametrize(("text", "task", "index"), [("a", "a", 0), ("a/", "a", 0), ("a/12", "a", 12)])
def test_an_attempt_is_a_task_and_a_number(text: str, task: str, index: int) -> None:
    """Without one the first."""
    assert attempt_key(text) == AttemptKey(task=task, index=index)


@pytest.mark.parametrize("text", ["", "/1", "a/b", "a/1/2", "a/-1", "../a"])
def test_what_is_no_attempt_is_told(text: str) -> None:
    """With how one is written."""
    with pytest.raises(UsageError) as refused:
        attempt_key(text)
    assert str(refused.value) == f"{text!r} is no attempt; write TASK or TASK/NUMBER, such as sqlparse/0"


@pytest.mark.parametrize(
    ("count", "lines"), [(0, 0), (25, 25), (26, 25)], ids=["none", "as many as are shown", "one more"]
)
def test_long_texts_are_cut_in_the_middle(capsys: pytest.CaptureFixture[str], count: int, lines: int) -> None:
    """Where it saves a line at least; tabs are spaces."""
    print_text("\n".join(["\tx"] * count), full=False)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == lines
    assert {*shown} <= {"    x", "[... 2 lines; --full shows them ...]"}
