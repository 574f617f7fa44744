"""Reference services of RepoGenesis with faults, under strict grading: none may be called tampered.

    python benchmarks/faulty_services.py eve javalin-task-manager [--each 3] [--seed 1]

One to three faults each in the text of a service in Python or Java: a number that is one off, a comparison or a
truth that is negated. Prints a line per verdict; the exit code is 1 when one is `tampered`.
"""

import argparse
import asyncio
import random
import re
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

from groundup.episodes.backends import backends
from groundup.settings import load
from groundup.suites.repogenesis.suite import create

FAULTY = re.compile(r"\b\d+\b|==|!=|\b[tT]rue\b|\b[fF]alse\b")
OTHER = {"==": "!=", "!=": "==", "true": "false", "false": "true", "True": "False", "False": "True"}


def make_faulty(service: Path, chance: random.Random) -> str:
    """Put some faults into a service's sources and return which."""
    paths = sorted(path for path in service.rglob("*") if path.suffix in (".py", ".java"))
    places = [(path, found) for path in paths for found in FAULTY.finditer(path.read_text(encoding="utf-8"))]
    done = []
    for path, found in sorted(chance.sample(places, chance.randint(1, 3)), key=lambda one: -one[1].start()):
        text, old = path.read_text(encoding="utf-8"), found.group()
        new = OTHER.get(old) or str(int(old) + 1)
        path.write_text(text[: found.start()] + new + text[found.end() :], encoding="utf-8")
        line = text.count("\n", 0, found.start()) + 1
        done.append(f"{path.name} line {line}: {old} is {new}")
    return "; ".join(done)


async def grade_services(names: list[str], each: int, seed: int) -> Counter[str]:
    """Grade *each* faulty services of each task, one after another, and return how often each status came."""
    settings = load()
    suite = create(settings)
    tasks = {task.id: task for task in suite.tasks()}
    counts: Counter[str] = Counter()
    async with backends(settings.sandbox, settings) as tools:
        for name, number in product(names, range(each)):
            with tempfile.TemporaryDirectory() as folder:
                tree, scratch = Path(folder, "tree"), Path(folder, "scratch")
                tree.mkdir()
                scratch.mkdir()
                context = tools.context(scratch, None)
                await suite.reference(tasks[name], "oracle", tree, context)
                faults = make_faulty(tree, random.Random(f"{seed}:{name}:{number}"))
                verdict = (await suite.graders()["strict"].grade(tasks[name], tree, context)).verdict
                counts[verdict.status.value] += 1
                score = verdict.score
                told = "-" if score is None else f"{score.numerator:g}/{score.denominator:g}"
                print(f"{verdict.status} {name} {told} {verdict.facts.get('signs')} {faults}", flush=True)
    return counts


def main() -> int:
    """Grade and summarise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    counts = asyncio.run(grade_services(asked.tasks, asked.each, asked.seed))
    print(dict(counts))
    return 1 if counts["tampered"] else 0


if __name__ == "__main__":
    sys.exit(main())
