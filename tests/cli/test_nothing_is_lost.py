"""Every command that writes or removes, in a folder with a user's files of the same names: all of them stay."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import TWO, Groundup, Predict

MINE = b"the only copy of my thesis\n"
TASK = {
    "start.md": "Write calc.",
    "test_commands.json": '["pytest tests"]',
    "test_files.json": '["tests"]',
    "test_case_count.txt": "7\n",
}


def data(folder: Path) -> Path:
    """Write data of one task that a user made."""
    place = folder / "test_files" / "calc"
    place.mkdir(parents=True)
    for name, text in TASK.items():
        (place / name).write_text(text)
    return folder


def put(*paths: Path) -> None:
    """Write a user's files."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MINE)


BOARD = ("leaderboard", "build", "bundles", "--verified", "verified", "--suite", TWO, "-o", "site")
VERIFY = ("leaderboard", "verify", "bundles/done.tar.gz", "--suite", TWO, "--record", "verified")
REFUSALS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "demo": (("demo", "--folder", "."), ("groundup.toml", "runs/1/config.json", "predictions/a")),
    "init": (("init",), ("groundup.toml",)),
    "report": (("report", "done", "--format", "html", "--save", "report.html"), ("report.html",)),
    "own report": (("report", "done", "--format", "latex", "--save", "paper.tex"), ("paper.tex",)),
    "table of papers": (("report", "runs", "--layout", "paper", "--save", "all.csv"), ("all.csv",)),
    "pack": (("leaderboard", "pack", "done", "-o", "mine.tar.gz"), ("mine.tar.gz",)),
    "board": (BOARD, ("site/index.html",)),
    "evidence": (BOARD, ("site/evidence/done.tar.gz",)),
    "verification": (VERIFY, ("verified/done.json",)),
    "audit": (("audit", TWO, "-o", "audit"), ("audit/audit.md",)),
    "export": (("export", "done", "out"), ("out/task-0000/a.py",)),
    "harbor export": (("harbor", "export", TWO, "-o", "out"), ("out/task-0000/task.toml",)),
    "image": (("image", "build", "out"), ("out/Dockerfile",)),
    "convert": (("data", "convert", "dibench", "old.jsonl", "-o", "new.jsonl"), ("new.jsonl",)),
    "snapshot": (("registry", "snapshot", "--names-from", "dibench", "-o", "names.jsonl"), ("names.jsonl",)),
    "pull": (("data", "pull", "nl2repobench", "--from", "mine"), ("cache/data/nl2repobench/chapter-1",)),
    "recipe build": (("recipe", "build", "calc", "--from-data", "mine"), ("calc.toml",)),
    "prints of build": (("recipe", "build", "calc", "--from-data", "mine"), ("calc.prints.json",)),
    "recipe check": (("recipe", "check", "six", "-o", "."), ("six.toml",)),
    "fingerprint": (("recipe", "fingerprint", "six"), ("six.prints.json",)),
    "freshen": (("recipe", "freshen", "six"), ("cache/fresh/six.fresh.json",)),
    "set": (("curate", "set", "calc", "-o", "out"), ("out/recipes/calc.toml",)),
    "manifest of a set": (("curate", "set", "calc", "-o", "out"), ("out/set.json",)),
    "warm": (("warm", "nl2repobench", "--task", "six", "--bundle", "six.bundle"), ("six.bundle",)),
    "site": (("view", "done", "--bundle", "site"), ("site/index.html", "site/notes")),
    "pages": ((*BOARD, "--pages"), ("site/runs/done/index.html",)),
    "plots": (("report", "done", "--plots", "plots"), ("plots/scores.svg",)),
    "export to a file": (("export", "done", "mine.txt"), ("mine.txt",)),
    "harbor export to a file": (("harbor", "export", TWO, "-o", "mine.txt"), ("mine.txt",)),
    "image to a file": (("image", "build", "mine.txt"), ("mine.txt",)),
    "site to a file": (("view", "done", "--bundle", "mine.txt"), ("mine.txt",)),
    "plots to a file": (("report", "done", "--plots", "mine.txt"), ("mine.txt",)),
    "audit to a file": (("audit", TWO, "-o", "mine.txt"), ("mine.txt",)),
    "fleet": (("fleet", "up", "--address-file", "fleet.json"), ("fleet.json",)),
    "run": (("run", TWO, "-a", "nop", "--run-id", "taken"), ("runs/taken/notes",)),
}
"""What is called, and a user's files that are in its way."""


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_in_the_way_is_refused(groundup: Groundup, tmp_path: Path, predict: Predict, case: str) -> None:
    """Exit code 2 and one sentence that names what is there; every file keeps its content."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half"}), "--run-id", "done")
    groundup("leaderboard", "pack", "done", "-o", "bundles/done.tar.gz")
    if case in ("board", "evidence", "pages"):
        groundup(*VERIFY)
    data(tmp_path / "mine")
    (tmp_path / "old.jsonl").write_text(OLDER)
    arguments, names = REFUSALS[case]
    mine = [tmp_path / name for name in names]
    put(*mine)

    ended = groundup(*arguments)

    assert [path.read_bytes() for path in mine] == [MINE] * len(mine)
    assert ended.code == 2, ended.err
    assert "bug" not in ended.err
    assert any(part in ended.err for name in names for part in Path(name).parts), ended.err
    assert "Traceback" not in ended.err


OLDER = (
    '{"instance_id": "a_b", "language": "Rust", "act_cmd": "act -j test", "ci_file": ".github/workflows/ci.yml", '
    '"dependency_file": "Cargo.toml", "patch": "--- a/Cargo.toml\\n+++ b/Cargo.toml\\n@@ -1 +1 @@\\n-a\\n+b\\n"}'
)


def test_what_groundup_wrote_is_written_again(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """The same commands go on replacing their own files."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half"}), "--run-id", "done")
    for _ in range(2):
        for arguments in (
            ("report", "done", "--format", "html", "--save", "report.html"),
            *([("report", "done", "--plots", "plots")] if find_spec("vl_convert") else []),
            ("leaderboard", "pack", "done", "-o", "bundles/done.tar.gz"),
            VERIFY,
            BOARD,
        ):
            ended = groundup(*arguments)
            assert ended.code == 0, ended.err
        groundup("regrade", "done")
    assert (tmp_path / "site" / "evidence" / "done.tar.gz").is_file()


def test_cleaning_leaves_what_others_have(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """With cache and runs in a user's own folder, everything that may go is groundup's."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half"}), "--run-id", "done")
    mine = [
        tmp_path / "cache" / "shells" / "zsh" / "rc",
        tmp_path / "cache" / "verdicts" / "old" / "trial",
        tmp_path / "runs" / "marathon" / "config.json",
        tmp_path / "runs" / "marathon" / "scratch" / "map",
        tmp_path / "runs" / "done" / "notes",
    ]
    put(*mine)
    ended = groundup("clean", "--older-than", "0s", "--yes")
    assert ended.code == 0, ended.err
    assert f"left {mine[-1]}" in ended.err
    assert [path.read_bytes() for path in mine] == [MINE] * len(mine)
    assert not (tmp_path / "runs" / "done" / "config.json").exists()


def test_removing_a_run_leaves_what_others_put_there(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """`runs rm` removes what the run wrote."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half"}), "--run-id", "done")
    put(tmp_path / "runs" / "done" / "notes")
    ended = groundup("runs", "rm", "done", "--yes")
    assert ended.code == 0
    assert [path.name for path in (tmp_path / "runs").rglob("*")] == ["done", "notes"]


def test_audits_of_a_user_s_folder(groundup: Groundup, tmp_path: Path) -> None:
    """An audit in a folder with other things writes beside them."""
    put(tmp_path / "audit" / "notes")
    ended = groundup("audit", TWO, "-o", "audit", "-n", "1")
    assert ended.code in (0, 4), ended.err
    assert (tmp_path / "audit" / "notes").read_bytes() == MINE
    assert groundup("audit", TWO, "-o", "audit", "-n", "1").code == ended.code
