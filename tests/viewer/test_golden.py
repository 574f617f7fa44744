"""Every page over seven runs, in words and links.

`python -m tests.viewer.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

import json
import re
import tempfile
from collections.abc import Mapping
from html import unescape
from itertools import groupby
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity
from groundup.settings import load
from groundup.store.folder import RunFolder
from groundup.viewer.app import Viewer
from tests.reports.made import Word
from tests.viewer.made import write_run
from tests.viewer.pictured import write_runs

GOLDEN = Path(__file__).parent / "golden"
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
TWO, ONE = "/run/twice/attempt/one", "/run/once/attempt/one/0"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "runs": (
        "/",
        "/?sort=highest+score",
        "/?sort=lowest+score",
        "/?sort=highest+cost",
        "/?sort=name",
        "/?sort=suite",
        "/?q=twic",
        "/?q=nl2repo",
        "/?q=nothing+has+this",
        "/?first=3",
        "/?first=99",
    ),
    "run": (
        "/run/twice",
        "/run/once",
        "/run/model-a",
        "/run/broken",
        "/run/absent",
        "/run/twice?q=T",
        "/run/twice?stage=test",
        "/run/twice?first=2",
        "/run/twice/tables",
        "/run/model-a/tables",
        "/run/broken/tables",
        "/run/twice/task/one",
        "/run/twice/task/three",
        "/run/twice/task/four",
        "/run/twice/task/five%2B6%40x",
        "/run/once/task/one",
        "/run/once/task/absent",
    ),
    "attempt": (
        f"{TWO}/0",
        f"{TWO}/1",
        f"{TWO}/2",
        "/run/twice/attempt/three/0",
        "/run/twice/attempt/three/1",
        "/run/twice/attempt/four/0",
        "/run/twice/attempt/four/1",
        "/run/twice/attempt/five%2B6%40x/0",
        "/run/same/attempt/one/0",
        "/run/model-a/attempt/schema/0",
        "/run/model-a/attempt/sqlparse/0",
        f"{TWO}/0?tab=instruction",
        f"{TWO}/0?tab=tests",
        f"{TWO}/0?tab=tests&q=SPLIT&outcome=failed",
        f"{TWO}/0?tab=tests&first=1",
        "/run/model-a/attempt/jsonlines/0?tab=tests&q=iter",
        f"{TWO}/0?tab=logs",
        f"{TWO}/0?tab=logs&path=logs/trace.txt&start=20",
        f"{TWO}/0?tab=logs&path=logs/trace.txt&start=-30",
        f"{TWO}/0?tab=logs&path=agent/told.txt",
        f"{TWO}/0?tab=logs&path=logs/../config.json",
        f"{TWO}/1?tab=logs",
    ),
    "work": (
        f"{TWO}/0?tab=files",
        f"{TWO}/0?tab=files&path=pkg/main.py",
        f"{TWO}/0?tab=files&path=data.bin",
        f"{TWO}/0?tab=files&path=../../config.json",
        f"{TWO}/0?tab=files&against=once",
        f"{ONE}?tab=files&against=twice&attempt=0",
        f"{ONE}?tab=files&against=twice&attempt=7",
        f"{TWO}/0?tab=files&against=absent",
        f"{TWO}/0?tab=files&turn=1",
        f"{TWO}/0?tab=files&turn=2",
        f"{TWO}/0?tab=files&turn=2&path=pkg/main.py",
        f"{TWO}/0?tab=files&turn=99",
        f"{TWO}/1?tab=files",
        f"{TWO}/0?tab=trajectory",
        f"{TWO}/0?tab=trajectory&first=3",
        f"{TWO}/0?tab=trajectory&kind=result",
        f"{TWO}/0?tab=trajectory&kind=calls",
        f"{TWO}/0?tab=trajectory&kind=reasoning",
        f"{TWO}/0?tab=trajectory&kind=usage",
        f"{TWO}/0?tab=trajectory&kind=absent",
        f"{TWO}/0?tab=trajectory&turn=1",
        f"{TWO}/0?tab=trajectory&turn=2",
        f"{TWO}/0?tab=trajectory&turn=70",
        f"{TWO}/0?tab=trajectory&turn=99",
        f"{TWO}/0?tab=trajectory&beside=once",
        f"{TWO}/0?tab=trajectory&beside=once&first=2",
        f"{TWO}/0?tab=trajectory&beside=absent",
        f"{TWO}/1?tab=trajectory",
    ),
    "compare": (
        "/compare?run=twice&run=once",
        "/compare?run=twice&run=once&run=same&power=80",
        "/compare?run=twice&run=once&part=gained&other=once",
        "/compare?run=twice&run=once&part=both&other=once",
        "/compare?run=twice&run=once&part=both&other=twice",
        "/compare?run=once&run=same&q=T&first=1",
        "/compare?run=model-a&run=model-b",
        "/compare?run=once&run=official",
        "/compare?run=twice",
        "/compare?run=twice&run=broken",
    ),
}


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
    usage = {"prompt_tokens": 1200, "completion_tokens": 34}
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
    attempt.trajectory_file.write_text("".join(json.dumps(one) + "\n" for one in steps) + "[1]\n{torn")


def _write(folder: Path) -> None:
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


def _words(page: str) -> str:
    """Return what a page says and where it leads, a line of the page each."""
    main = page[page.index("<main") : page.index("</main>")]
    main = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", main)
    main = re.sub(r'<[^>]*\b(?:href|value|action)="([^"]*)"[^>]*>', r" [\1] ", main)
    lines = [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in main.split("\n")]
    alike = ((line[:2000], len(list(several))) for line, several in groupby(filter(None, lines)))
    return "\n".join(line if count == 1 else f"{line} (and so {count} times)" for line, count in alike)


def _shown(group: str, folder: Path) -> str:
    _write(folder)
    viewer = Viewer(load({"output": str(folder)}))
    parts = []
    try:
        with TestClient(viewer.app()) as client:
            for address in GROUPS[group]:
                reply = client.get(address, follow_redirects=False)
                said = reply.headers["location"] if reply.is_redirect else _words(reply.text)
                parts.append(f"##### {address} {reply.status_code}\n{said}\n")
    finally:
        viewer.index.close()
    return "\n".join(parts).replace(str(folder), "FOLDER")


@pytest.mark.parametrize("group", GROUPS)
def test_pages_read_as_before(group: str, tmp_path: Path) -> None:
    """Each word and link of each page, whatever its address asks for."""
    assert _shown(group, tmp_path) == (GOLDEN / f"{group}.txt").read_text(encoding="utf-8")


def _record() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for group in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            (GOLDEN / f"{group}.txt").write_text(_shown(group, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    _record()
