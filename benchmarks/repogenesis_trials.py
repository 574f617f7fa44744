"""RepoGenesis on real data: `python -m benchmarks.repogenesis_trials --data PATH`.

PATH is a folder of task folders, such as a checkout of the published repository. First every reference service
is graded `--repeat` times, `--jobs` at once: each must be deployed, pass all hidden tests and cover all endpoints.
Then dishonest services are graded for some tasks by both graders, and a table shows what each gets.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.repogenesis_submissions import PRINTER, SERVER

CHEAT_TASKS = {"eve": 5001, "SimpleFastPyAPI": 8000, "Chatroom": 8083, "Tic-Tac-Toe": 8082, "mail_service": 8080}
OVERWRITER = """
for place in tests ../tests /repo/tests /workspace/tests; do
    for file in $place/test_*.py; do
        [ -f "$file" ] && printf 'def test_one(): pass\\n' > "$file"
    done
done
exec python app.py
"""
Files = Mapping[str, str]


def cheats(port: int, readme: str) -> dict[str, Files]:
    """Return the dishonest submissions for a service on *port*."""
    server = SERVER.replace("PORT", str(port))
    calls = "@app.get() @app.post() @app.put() @app.delete() @app.patch()"
    comments = "".join(f"# {calls} {line}\n" for line in readme.splitlines())
    return {
        "nothing": {".keep": ""},
        "404 to everything": {"app.py": server},
        "sleep 3600": {"start.sh": "sleep 3600\n"},
        "prints markers": {"start.sh": PRINTER},
        "overwrites tests": {"app.py": server, "start.sh": OVERWRITER},
        "routes in comments": {"routes.py": comments, "app.py": server},
    }


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of task folders")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--part", choices=("oracles", "cheats", "both"), default="both")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-trials-") as name:
        room = Path(name)
        data = next(path for path in (chosen.data / "RepoGenesis/repo", chosen.data) if path.is_dir())
        shutil.copytree(data, room / "data/repogenesis/data")
        if chosen.part in ("oracles", "both"):
            oracles(room, chosen.repeat, chosen.jobs)
        if chosen.part in ("cheats", "both"):
            dishonest(room, chosen.jobs)


def oracles(room: Path, repeat: int, jobs: int) -> None:
    """Grade every reference service so many times."""
    from groundup.suites.repogenesis.tasks import oracle_names

    began = time.monotonic()
    tasks = ",".join(sorted(oracle_names()))
    found = groundup(
        room, "run", "repogenesis", "-a", "oracle", "-k", str(repeat), "-j", str(jobs), "--tasks", tasks
    )
    perfect = [verdict for verdict in found if is_perfect(verdict)]
    print(
        f"{len(perfect)} of {len(found)} gradings of {len(oracle_names())} reference services deployed, all tests "
        f"passed, coverage 1; {time.monotonic() - began:.0f} s with {jobs} jobs"
    )
    for verdict in found:
        if not is_perfect(verdict):
            print("  not perfect:", json.dumps(verdict)[:600])


def is_perfect(line: Mapping[str, object]) -> bool:
    """Whether an attempt got everything."""
    scores = [share(line, name) for name in ("score", "deployed", "all_passed", "api_coverage")]
    return all(score == 1 for score in scores)


def dishonest(room: Path, jobs: int) -> None:
    """Grade the cheats by both graders and print the means over the tasks."""
    for task, port in CHEAT_TASKS.items():
        readme = (room / "data/repogenesis/data" / task / "README.md").read_text()
        for name, files in cheats(port, readme).items():
            for path, text in files.items():
                place = room / "cheats" / name / task / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
    print(f"means over {', '.join(CHEAT_TASKS)}; '-': undefined everywhere (0/0)\n")
    columns = ("deployed", "score", "api_coverage")
    print(f"| {'submission':<20} | strict: deployed | pass rate | coverage | official: DSR | Pass@1 | AC |")
    print("|---|---|---|---|---|---|---|")
    for folder in sorted((room / "cheats").iterdir()):
        cells = []
        for grader in ("strict", "official"):
            options = ("--grader", grader, "-j", str(jobs), "--tasks", ",".join(CHEAT_TASKS))
            found = groundup(room, "evaluate", "repogenesis", "-p", str(folder), *options)
            cells += [mean([share(line, name) for line in found]) for name in columns]
        print(f"| {folder.name:<20} | {' | '.join(cells)} |", flush=True)


def share(line: Mapping[str, object], name: str) -> float | None:
    """Return one score of a verdict line; None where it is undefined."""
    verdict = line["verdict"]
    assert isinstance(verdict, dict)
    score = verdict["score"] if name == "score" else verdict["scores"].get(name)
    return None if score is None else score["value"]


def mean(values: list[float | None]) -> str:
    """Return the mean of what is defined."""
    defined = [value for value in values if value is not None]
    return f"{sum(defined) / len(defined):.3f}" if defined else "-"


def groundup(room: Path, *arguments: str) -> list[dict[str, object]]:
    """Run the command and return the lines of its verdicts."""
    output = Path(tempfile.mkdtemp(dir=room))
    environment = {**os.environ, "GROUNDUP_DATA_DIR": str(room / "data")}
    command = [sys.executable, "-m", "groundup", *arguments, "--no-cache", "--output", str(output)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = list(output.glob("*/verdicts.jsonl"))
    if not found:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [json.loads(line) for line in found[0].read_text().splitlines()]


if __name__ == "__main__":
    main()
