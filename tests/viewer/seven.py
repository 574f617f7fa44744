"""Seven runs with what runs have: recorded and made ones, trajectories, files, logs, costs, and a broken one."""

import json
from pathlib import Path

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity
from groundup.store.folder import RunFolder
from tests.reports.made import Word
from tests.viewer.made import write_run
from tests.viewer.pictured import write_runs

TWICE: dict[str, list[Word]] = {
    "one": [(1, 2), (2, 2)],
    "two": [(2, 2), (2, 2)],
    "three": ["tampered", (0, 4)],
    "four": ["infrastructure", "pending"],
    "five+6@x": ["not_attempted", "pending"],
}
ONCE: dict[str, list[Word]] = {
    "one": [(2, 2)],
    "two": [(1, 2)],
    "three": [(3, 4)],
    "four": [(1, 3)],
    "seven": [(1, 1)],
}
OTHER_GRADER = GraderIdentity(name="official", version="1", data_version="d1", environment="image")


def _reply(turn: int, content: str | None, command: str, **more: object) -> dict[str, object]:
    call = {"id": "1", "name": "bash", "arguments": json.dumps({"command": command})}
    message = {"role": "assistant", "content": content, "reasoning": f"why {turn}", "tool_calls": [call]}
    at = f"2026-01-01T00:00:{turn:02}"
    return {"kind": "reply", "at": at, "turn": turn, "message": message, "finish": "tool_calls", **more}


def _played(run: RunFolder, index: int, said: str, turns: int) -> None:
    """Give an attempt files, logs of its agent, and a trajectory."""
    attempt = run.attempt(AttemptKey(task="one", index=index))
    files = {
        "pkg/main.py": f"def main():\n    return {said!r}\n",
        "zeta.txt": "last\n",
        "README.md": f"# {said}\n",
    }
    for path, text in files.items():
        (attempt.submission / path).parent.mkdir(parents=True, exist_ok=True)
        (attempt.submission / path).write_text(text)
    (attempt.submission / "data.bin").write_bytes(b"\0\1\2" + said.encode())
    (attempt.logs / "try-2").mkdir(parents=True)
    (attempt.logs / "try-2" / "old.txt").write_text("an earlier try\n")
    (attempt.logs / "check.txt").write_text("___ test_split ___\nwrong\n")
    attempt.agent_logs.mkdir(parents=True)
    (attempt.agent_logs / "told.txt").write_text(f"the agent: {said}\n")
    usage = {"input_tokens": 1200, "output_tokens": 34}
    edits = [{"start": 1, "lines": 1, "text": f"    return {said!r}\n"}]
    added = {"path": "pkg/main.py", "what": "added", "text": "def main():\n    return 1\n"}
    changed = [
        {"path": "pkg/main.py", "what": "changed", "edits": edits},
        {"path": "big.bin", "what": "added", "bytes": 70_000, "left_out": "no text"},
        {"path": "gone.txt", "what": "removed", "before": "went\n"},
    ]
    steps: list[dict[str, object]] = [
        {"kind": "began", "at": "2026-01-01T00:00:00", "agent": "loop", "version": "1", "model": "m"},
        {"kind": "message", "at": "", "role": "user", "content": f"Write {said}."},
        _reply(1, None, "mkdir pkg", usage=usage),
        {"kind": "result", "at": "", "turn": 1, "name": "bash", "content": "made", "seconds": 0.5},
        {"kind": "workspace", "at": "", "turn": 1, "files": [added]},
        _reply(2, f"It is {said}.", "python -m pytest", usage=usage, cost_usd=0.25),
        {"kind": "result", "at": "", "turn": 2, "name": "bash", "content": "1 passed\n" * 100, "seconds": 2},
        {"kind": "workspace", "at": "", "turn": 2, "files": changed, "more": True},
    ]
    for turn in range(3, turns + 1):
        steps += [_reply(turn, f"turn {turn}", f"echo {turn}")]
    steps += [{"kind": "odd", "at": "", "value": [1]}, {"kind": "ended", "outcome": "submitted", "detail": "done"}]
    damaged = "[1]\n{torn" if turns > 3 else ""
    attempt.trajectory_file.write_text("".join(json.dumps(one) + "\n" for one in steps) + damaged)


def write_seven_runs(folder: Path) -> None:
    """Write the runs model-a and model-b, twice, once, same, official, and one that is broken."""
    write_runs(folder)
    twice = write_run(folder, "twice", TWICE, said="split")
    once = write_run(folder, "once", ONCE, said="split")
    write_run(
        folder, "same", {"one": [(1, 2)], "two": [(0, 2)], "eight": [(1, 1)]}, submission="made-by-once-one-0"
    )
    write_run(folder, "official", {"one": [(1, 2)]}, grader=OTHER_GRADER, said="split", suite="other")
    _played(twice, 0, "left", 75)
    _played(once, 0, "right", 3)
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
