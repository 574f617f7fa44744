"""Whether each program that groundup knows still works.

    python -m benchmarks.programs [NAME[@VERSION] ...] [--newest] [--service] [--output FOLDER]

Every program gets the task jsonlines of NL2RepoBench (with `--service` SimpleFastPyAPI of RepoGenesis) and a
scripted model, which has it write the original by what it offers (program_replies.py): its own shell, files in a
reply, or the documents of its roles. The program is installed through the gateways, run, recorded and graded as in
any run: one that works has 27 of 27 (2 of 2). `--newest` takes the newest version from the registry, for a monthly
check. Prints rows for docs/data/programs.tsv, with the most memory that its sandbox held and the size of what was
installed; ends with 1 when a program did not get there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.program_replies import script_for

import groundup
from groundup.agents.cli.preset import Preset, preset_names, shipped_preset
from groundup.settings import load
from groundup.store.folder import RunFolder

LIBRARY, SERVICE = ("nl2repobench", "jsonlines"), ("repogenesis", "SimpleFastPyAPI")


def main() -> int:
    """Check the named programs, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME[@VERSION]")
    parser.add_argument("--newest", action="store_true", help="the newest version of each")
    parser.add_argument("--service", action="store_true", help="a service of RepoGenesis instead of a library")
    parser.add_argument("--output", type=Path, help="keep the runs in this folder")
    given = parser.parse_args()
    folder = given.output or Path(tempfile.mkdtemp(prefix="groundup-programs-"))
    asked = SERVICE if given.service else LIBRARY
    tree = original(folder, asked)
    failed = False
    print(f"| program | version | points | turns | seconds | memory_mb | disk_mb | outcome |\n|{'---|' * 8}")
    for name in given.programs or preset_names():
        preset = shipped_preset(name.partition("@")[0])
        last = preset.ended.version if preset.ended else ""
        version = name.partition("@")[2] or ((last or newest(preset)) if given.newest else preset.proved) or ""
        row, whole = trial(preset, version, tree, asked)
        if preset.ended and version == last:
            row[-1] += f"; the last version: {preset.ended.why}"
        failed |= not whole
        print(f"| {' | '.join(row)} |", flush=True)
    return int(failed)


def original(folder: Path, asked: tuple[str, str] = LIBRARY) -> Path:
    """Return the tree of the task's original, by a run of the oracle below *folder*."""
    suite, task = asked
    run = groundup.run(suite, "oracle", tasks=task, output=folder, run_id="oracle")
    return run.folder / "attempts" / task / "0" / "submission"


def newest(preset: Preset) -> str:
    """Return the newest version in the program's registry."""
    assert preset.install is not None
    name, python = preset.install.package, preset.install.python
    if preset.install.registry == "npm":
        return subprocess.run(
            ["npm", "view", name, "version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    asked = [
        sys.executable,
        "-m",
        "pip",
        "index",
        "versions",
        "--python-version",
        python,
        "--only-binary",
        ":all:",
        name,
    ]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return found.partition("(")[2].partition(")")[0]


def trial(preset: Preset, version: str, tree: Path, asked: tuple[str, str]) -> tuple[list[str], bool]:
    """Return the row of one program that writes *tree*, the oracle's, and whether it got all points."""
    suite, task = asked
    folder = tree.parents[4]
    replies = script_for(preset.name, tree)
    if replies is None:
        return [preset.name, version, *("-" * 5), "not tried: nobody wrote its replies (program_replies.py)"], True
    script = folder / f"{preset.name}.json"
    script.write_text(json.dumps(replies))
    began = time.monotonic()
    try:
        run = groundup.run(
            suite, f"{preset.name}@{version}", model=f"scripted/{script}", tasks=task, output=folder,
            run_id=f"{preset.name}-{version}", max_turns=60, max_seconds=900,
        )  # fmt: skip
    except groundup.GroundupError as error:
        return [
            preset.name,
            version,
            "-",
            "-",
            f"{time.monotonic() - began:.0f}",
            "-",
            "-",
            str(error).replace("\n", " ")[:200],
        ], False
    (attempt,) = RunFolder(run.folder).latest().values()
    score = attempt.verdict.score if attempt.verdict else None
    points = f"{score.numerator:g}/{score.denominator:g}" if score else "-"
    reasons = attempt.verdict.reasons if attempt.verdict else ()
    detail = f"{attempt.outcome}: {reasons[0].message}" if reasons else str(attempt.outcome)
    turns = attempt.effort.turns if attempt.effort else 0
    whole = score is not None and score.numerator == score.denominator
    took = f"{time.monotonic() - began:.0f}"
    return [preset.name, version, points, str(turns), took, *needed(run.folder, task), detail[:200]], whole


def needed(folder: Path, task: str) -> tuple[str, str]:
    """Return the MB of memory and of disk that the program took, as far as they are known."""
    lines = (folder / "attempts" / task / "0" / "trajectory.jsonl").read_text().splitlines()
    steps = {step["kind"]: step for step in map(json.loads, lines)}
    peak = steps.get("used", {}).get("peak_memory_mb")
    layer = steps.get("program", {}).get("installed", {}).get("layer", "").removeprefix("sha256:")[:16]
    found = [*(load().cache_dir / "layers").glob(f"program-*/{layer}")] if layer else []
    size = sum(path.lstat().st_size for path in found[0].rglob("*")) if found else 0
    return f"{peak:.0f}" if peak else "-", f"{size / 2**20:.0f}" if size else "-"


if __name__ == "__main__":
    sys.exit(main())
