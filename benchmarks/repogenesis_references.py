"""RepoGenesis' references: does each get exactly the most that its task allows, by every grader?

    python -m benchmarks.repogenesis_references --folder FOLDER

For each pass a new, empty cache. In it the references are graded by `strict`, `official` and `legacy`, then
nothing and a stub (a server that answers `200 {}` to everything, in Java one that serves nothing) by `strict`. A
table says of each cell `ok` or what is wrong, and how long each run took. FOLDER keeps the runs; what is there is
not run again.

A reference must pass `most` of `count` tests by `strict`. By the others no more may fail than by `strict`, unless
the task has a flag that says that this grader does not find or count them; "deployed" is shown only.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundup.settings import load
from groundup.suites.repogenesis.tasks import ServiceTask, oracle_names, shipped_tasks

GRADERS = ("strict", "official", "legacy")
NOTHING, STUB = "nop", "stub"
SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer

ThreadingHTTPServer(("0.0.0.0", PORT), Handler).serve_forever()
"""
Line = Mapping[str, object]


def main() -> None:
    """Measure what is not there yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--lang", choices=("python", "java"), default="python")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", help="strict, official, legacy, nop or stub; can be repeated")
    chosen = parser.parse_args()
    tasks = {name: task for name, task in shipped_tasks().items() if task.language == chosen.lang}
    tasks = {name: task for name, task in tasks.items() if name in oracle_names()}
    cells: dict[str, dict[str, str]] = {name: {} for name in tasks}
    took = []
    for number in range(1, chosen.passes + 1):
        with tempfile.TemporaryDirectory(prefix="groundup-references-") as cache:
            for kind in chosen.only or (*GRADERS, NOTHING, STUB):
                run = chosen.folder.resolve() / f"{chosen.lang}-{number}-{kind}"
                began = time.monotonic()
                lines = measured(run, kind, tasks, Path(cache), chosen.jobs)
                took.append(f"{run.name}: {time.monotonic() - began:.0f} s")
                print(took[-1], flush=True)
                for name, task in tasks.items():
                    cells[name][f"{kind} {number}"] = judged(kind, task, lines.get(name))
    columns = list(next(iter(cells.values())))
    print(f"\n| task | most | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for name, row in cells.items():
        facts = tasks[name].tests
        print(f"| {name} | {most_of(tasks[name])} of {facts.count} | {' | '.join(row.values())} |")
    wrong = [name for name, row in cells.items() if any(cell.startswith("WRONG") for cell in row.values())]
    print(f"\n{len(cells) - len(wrong)} of {len(cells)} tasks as stated; not so: {', '.join(wrong) or 'none'}")


def measured(run: Path, kind: str, tasks: Mapping[str, ServiceTask], cache: Path, jobs: int) -> Mapping[str, Line]:
    """Return a verdict line for each task, from *run* where it is whole."""
    if not (run / "whole").is_file():
        shutil.rmtree(run, ignore_errors=True)
        place = ("-o", str(run.parent), "--run-id", run.name)
        names = ("--tasks", ",".join(tasks), "--no-cache", "-j", str(jobs), *place)
        if kind == STUB:
            stubs = cache / "stubs"
            write_stubs(stubs, tasks)
            command: Sequence[str] = ("evaluate", "repogenesis", "-p", str(stubs), *names)
        elif kind == NOTHING:
            command = ("run", "repogenesis", "-a", "nop", *names)
        else:
            command = ("run", "repogenesis", "-a", "oracle", "--grader", kind, *names)
        settings = {"GROUNDUP_CACHE_DIR": str(cache), "GROUNDUP_DATA_DIR": str(load().data)}
        done = subprocess.run(
            [sys.executable, "-m", "groundup", *command],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        if not (run / "verdicts.jsonl").is_file():
            raise SystemExit(f"{run.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        if done.returncode == 0:
            (run / "whole").touch()
    found = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    return {line["attempt"]["task"]: line for line in found if "verdict" in line}


def write_stubs(folder: Path, tasks: Mapping[str, ServiceTask]) -> None:
    """Write a service for each task that starts and does nothing of what the README asks."""
    for name, task in tasks.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        if task.language == "python":
            (place / "requirements.txt").write_text("")
            (place / "app.py").write_text(SERVER.replace("PORT", str(task.port)))
        else:
            source = place / "src/main/java/Stub.java"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text("public class Stub {\n}\n")
            (place / "start.sh").write_text("sleep 3600\n")


def most_of(task: ServiceTask) -> int:
    """Return how many hidden tests a service can pass."""
    return task.tests.most


def judged(kind: str, task: ServiceTask, line: Line | None) -> str:
    """Return `ok` with the score, or `WRONG` with it."""
    if line is None:
        return "WRONG no verdict"
    verdict = line["verdict"]
    assert isinstance(verdict, dict)
    score = verdict["score"]
    if score is None:
        return f"WRONG {verdict['status']}"
    passed, of, most, count = score["numerator"], score["denominator"], most_of(task), task.tests.count
    deployed = (verdict["scores"].get("deployed") or {}).get("numerator")
    flags = {flag.kind for flag in task.flags if kind not in GRADERS or kind == "legacy" or kind in flag.graders}
    if kind in (NOTHING, STUB):
        free = "untouched" in flags or (kind == STUB and passed < most)
        fits = passed == 0 or free
    elif kind == "strict":
        fits = passed == most and of == count and deployed == 1
    else:
        fits = of - passed <= (count - most) * (2 if task.language == "java" else 1) and of > 0
    text = f"{passed:g}/{of:g}" + ("" if deployed in (1, None) else ", not deployed")
    if fits:
        return f"ok {text}"
    stated = sorted(flags - {"hidden-names", "hidden-requirement", "unpassable", "untouched"})
    return f"flagged {text}: {', '.join(stated)}" if stated else f"WRONG {text}"


if __name__ == "__main__":
    main()
