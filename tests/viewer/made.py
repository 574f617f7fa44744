"""Runs for pages, with submissions that want to be more than text."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from groundup.cli.listening import listening
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity, TestResult
from groundup.settings import load
from groundup.store.folder import RunFolder, RunWriter
from groundup.viewer.app import Viewer
from tests.reports.made import GRADER, Word, run_of

EVIL = "<script>document.title='evil'</script><img src=x onerror=document.title='evil'>"
HOSTILE = {
    "picture.svg": f"<svg xmlns='http://www.w3.org/2000/svg' onload=alert(1)>{EVIL}</svg>",
    "turned\u202egpj.py": "access = 'user\u202e \u2066# admin\u2069 \u2066'\n",
    "colours.txt": "\x1b[31mred\x1b[0m \x1b]0;evil\x07title\x1b[2J",
    "nul.txt": "x" * 9000 + "\0" + EVIL,
    "long.json": '{"a": "' + "</script>" * 12_000 + '"}',
    "=cmd|'calc'!A1": "a formula",
    "README.md": f"# [click](javascript:alert(1)) {EVIL}\n<iframe src='http://127.0.0.1:1/'></iframe>\n",
}
"""Files of a submission that want to be more than text."""
BASE: dict[str, list[Word]] = {"one": [(1, 2)], "two": [(2, 2)], "three": ["tampered"], "four": ["infrastructure"]}
OTHER: dict[str, list[Word]] = {"one": [(2, 2)], "two": [(1, 2)], "three": [(0, 4)], "four": ["pending"]}


def write_run(
    folder: Path,
    name: str,
    words: Mapping[str, list[Word]],
    submission: str | None = None,
    grader: GraderIdentity = GRADER,
    said: str = EVIL,
    suite: str = "toy",
) -> RunFolder:
    """Write a run as a run writes itself; *said* is what its tests are called and say, and its reasons tell."""
    config, lines = run_of(name, dict(words), grader, loaded=suite)
    with RunWriter.create(folder / name, config) as writer:
        for one in lines.values():
            line = one.but(submission=submission or f"made-by-{name}-{one.attempt.task}-{one.attempt.index}")
            if said != EVIL and line.verdict and line.verdict.reasons and (score := line.verdict.score):
                lost = f"{score.denominator - score.numerator:.0f} of {score.denominator:.0f}"
                why = f"{lost} expected tests did not pass, first tests/test_a.py::test_{said}: AssertionError"
                reasons = (line.verdict.reasons[0].but(message=why),)
                line = line.but(verdict=line.verdict.but(reasons=reasons))
            tests = [
                TestResult(id=f"tests/test_a.py::test_{said}", outcome="failed", expected=True, message=said),
                TestResult(id="tests/test_a.py::test_b", outcome="passed", expected=True),
            ]
            trace = (
                f"___ test_{said} ___\n  File /x/_pytest/a.py\n    call()\nassert {said}\n==== {said[:9]} ====\n"
            )
            writer.record(line, tests, {"tests.txt": f"{said}\n".encode() * 9000, "trace.txt": trace.encode()})
    return RunFolder(folder / name)


def fill(run: RunFolder, task: str) -> None:
    """Give an attempt a submission and a trajectory that want to be more than text."""
    attempt = run.attempt(AttemptKey(task=task, index=0))
    (attempt.submission / "pkg").mkdir(parents=True)
    (attempt.submission / "pkg" / "main.py").write_text(f"def main():\n    return {EVIL!r}\n")
    (attempt.submission / f"{EVIL.replace('/', '-')}.txt").write_text(EVIL)
    (attempt.submission / "data.bin").write_bytes(b"\0\1\2")
    (attempt.submission / "out").symlink_to("/etc")
    for name, text in HOSTILE.items():
        (attempt.submission / name).write_text(text)
    message = {"role": "assistant", "content": EVIL, "reasoning": "because", "tool_calls": []}
    call = {"id": "1", "name": "bash", "arguments": json.dumps({"command": f"echo {EVIL}"})}
    steps: list[dict[str, object]] = [{"kind": "began", "at": "", "agent": "loop", "version": "1", "model": "m"}]
    for turn in range(30):
        reply = {**message, "tool_calls": [call]}
        steps.append(
            {"kind": "reply", "at": "2026-01-01T00:00:01", "turn": turn, "message": reply, "finish": "stop"}
        )
        steps.append({"kind": "result", "at": "", "turn": turn, "name": "bash", "content": EVIL, "seconds": 1})
    attempt.trajectory_file.write_text("".join(json.dumps(step) + "\n" for step in steps) + '{"kind": "torn')


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yield the address of a viewer over the runs in *folder*."""
    viewer = Viewer(load({"output": str(folder)}))
    with listening(None, 0, has_token=False) as listener:
        server = uvicorn.Server(uvicorn.Config(viewer.app(), log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
            viewer.index.close()
