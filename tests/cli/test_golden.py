"""What commands print of seven runs and one that cost something, to the letter.

`python -m tests.cli.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from groundup.cli.main import main
from groundup.domain.limits import Effort
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.store.folder import RunWriter
from tests.cli.conftest import Ended, Groundup
from tests.reports.made import Word, run_of
from tests.viewer.seven import write_seven_runs

GOLDEN = Path(__file__).parent / "golden"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "report": (
        "report twice",
        "report once",
        "report costly",
        "report model-a",
        "report broken",
        "report absent",
        "report twice once",
        "report once same costly",
        "report once official",
        "report twice once --format markdown",
        "report costly --format markdown",
        "report costly --layout paper",
        "report once twice --layout paper --format markdown",
        "report once --fail-under 0.9",
        "report once --fail-under 0.5",
        "report once --format odd",
        "report once twice --format repogenesis",
        "report once --save x.odd",
    ),
    "forms": (
        "report costly --json",
        "report twice --format csv",
        "report once costly --format csv",
        "report twice --format junit",
        "report costly once --format junit",
        "report twice once --format latex",
        "report costly --format latex",
        "report model-a model-b --format latex --layout paper",
    ),
    "compare": (
        "compare twice once",
        "compare once twice --power 0.05",
        "compare once same costly",
        "compare once official",
        "compare model-a model-b",
        "compare twice once --format markdown",
        "compare costly once --json",
        "compare model-a model-b sqlparse",
        "compare model-a model-b jsonlines --json",
        "compare model-a model-b absent",
        "compare model-a model-b sqlparse --power 0.1",
        "compare once",
    ),
    "why": (
        "why twice",
        "why once",
        "why costly",
        "why model-a",
        "why model-b",
        "why model-a sqlparse",
        "why model-a jsonlines --full",
        "why model-a schema -t and",
        "why model-a -t nothing",
        "why twice one",
        "why twice one/1",
        "why twice four/0",
        "why twice three/0",
        "why twice one/7",
        "why twice absent",
        "why costly alpha --json",
        "why costly beta --full",
        "why model-a humanize",
    ),
    "runs": (
        "runs",
        "runs --json",
        "runs check once",
        "runs check twice costly --json",
        "runs check broken",
        "runs check",
        "runs odd",
        "runs rm",
        "review once",
        "review twice",
        "review costly",
        "review twice --json",
        "show twice one",
        "show once one",
        "show once one --json",
        "show once one --logs",
        "show once one --full",
        "show once",
        "show model-a sqlparse --json",
        "show once two",
        "show twice one/7",
    ),
}


def _write_costly(folder: Path) -> None:
    """Write a run whose attempts took effort, lost points at all stages, and have tests of all kinds."""
    words: dict[str, list[Word]] = {
        "alpha": [(1, 6), (5, 6)],
        "beta": [(0, 3), (3, 3)],
        "gamma": ["tampered", "infrastructure"],
        "delta": [(2, 2), "not_attempted"],
    }
    config, lines = run_of("costly", words)
    tests = [
        TestResult(id="tests/test_a.py::test_one", outcome="failed", expected=True, message="KeyError: 'x'"),
        TestResult(id="tests/test_a.py::test_two[1]", outcome="failed", expected=True, message="KeyError: 'x'"),
        TestResult(
            id="tests/test_b.py::test_three", outcome="missing", expected=True, lacks=("pkg.main", "pkg.b")
        ),
        TestResult(id="tests/test_b.py::test_four", outcome="skipped", expected=True, message="no network"),
        TestResult(
            id="tests/test_b.py::test_five",
            outcome="error",
            expected=True,
            message="AssertionError: assert 1 == 2",
            detail="tests/test_b.py:7: in test_five\n    assert f() == 2\nE   AssertionError: assert 1 == 2",
            demand="left  1\nright 2",
            calls="pkg/a.py:3: def f():",
            probably="pkg/a.py:4: return 1\npkg/b.py:9: ONE = 1",
            duration_s=1.5,
            flaky=True,
        ),
        TestResult(id="tests/test_c.py::test_six", outcome="passed", expected=True, duration_s=0.25),
        TestResult(id="mine.py::test_own", outcome="failed", expected=False),
        TestResult(id="requests", outcome="missing", expected=False, kind="dependency", message="is not declared"),
    ]
    stages = [*Stage]
    with RunWriter.create(folder / "costly", config) as writer:
        for number, line in enumerate(lines.values()):
            effort = Effort(
                turns=number,
                usage=TokenUsage(input_tokens=1000 * number, output_tokens=10 * number),
                cost_usd=None if number == 3 else 0.125 * number,
                seconds=30.0 * number,
                detail="the limit of turns" if number == 1 else "",
                rounds=(0.25, None, 0.5) if number == 0 else (),
            )
            verdict = line.verdict
            if verdict is not None and verdict.score is not None and verdict.score.value != 1:
                reasons = tuple(
                    Reason(stage=stage, message=f"lost at {stage}")
                    for stage in stages[2 * number % len(stages) :][: 1 + number % 4]
                )
                verdict = verdict.but(
                    reasons=reasons, facts={"signs": "processes left: 2"}, timings_s={"tests": 2.5}
                )
            ended = line.started_at + timedelta(seconds=60 * number)
            changed = line.but(effort=effort, verdict=verdict, finished_at=ended, try_number=1 + number % 2)
            writer.record(changed.but(submission=f"costly-{number}"), tests if number % 3 == 0 else [], {})


def _told(group: str, folder: Path, groundup: Callable[..., Ended]) -> str:
    (folder / "runs").mkdir()
    write_seven_runs(folder / "runs")
    _write_costly(folder / "runs")
    parts = []
    for command in COMMANDS[group]:
        ended = groundup(*command.split())
        said = "".join(f"{line.rstrip()}\n" for line in (*ended.out.splitlines(), *ended.err.splitlines()))
        parts.append(f"##### {command}: {ended.code}\n{said}")
    text = "\n".join(parts).replace(str(folder), "FOLDER")
    return re.sub(r'("groundup": |generated by groundup )"?[\d.]+\w*"?', r"\1VERSION", text)


@pytest.mark.parametrize("group", COMMANDS)
def test_commands_print_what_they_did(
    group: str, tmp_path: Path, groundup: Groundup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, documents, sentences and exit codes."""
    monkeypatch.setenv("COLUMNS", "160")
    assert _told(group, tmp_path, groundup) == (GOLDEN / f"{group}.txt").read_text(encoding="utf-8")


def _call(*words: str) -> Ended:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    out.flush()
    return Ended(code, out.buffer.getvalue().decode(), err.getvalue())


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    os.environ["COLUMNS"] = "160"
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as place:
            os.environ |= {"GROUNDUP_OUTPUT": f"{place}/runs", "GROUNDUP_CACHE_DIR": f"{place}/cache"}
            os.chdir(place)
            (GOLDEN / f"{name}.txt").write_text(_told(name, Path(place), _call), encoding="utf-8")
