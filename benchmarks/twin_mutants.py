"""Honest but faulty submissions under strict grading: mutants of originals, of which none may be called tampered.

    python benchmarks/twin_mutants.py TASK... [--each 40] [--jobs 2] [--seed 1] [--grader trace] [--timeout 30]
    python benchmarks/twin_mutants.py TASK... --equal --each 5
    python benchmarks/twin_mutants.py --services eve javalin-task-manager --each 3

A mutant is an original with one to three faults: a function that returns a constant, a branch that is never or
always taken, a number that is one off, a comparison that is shifted or negated. `--equal`: mutants whose one fault
is an `__eq__` that is always true, as many as there are of these, at most *each*. `--services`: reference services
of RepoGenesis, in Python and Java, with such faults in their text. Prints a line per verdict and a summary; the
exit code is 1 when a verdict is `tampered` or shows the sign `memorised`.
"""

import argparse
import ast
import asyncio
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from groundup.episodes.equipment import equipment
from groundup.grading.bench import Bench
from groundup.grammars import python_tree
from groundup.settings import load
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.recipe_file import shipped_recipes
from groundup.suites.nl2repobench.suite import create
from groundup.suites.repogenesis.suite import create as services
from groundup.trees.removal import remove_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
CONSTANTS: tuple[object, ...] = (None, True, False, 0, 1, "", "x", [], {})
SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}


def sources(original: Path, recipe: Recipe) -> list[Path]:
    """Return the modules of the library, tests left out."""
    found = []
    for root in recipe.tests.import_roots:
        for package in recipe.tests.packages:
            place = (original / root).joinpath(*package.split("."))
            found += sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    protected = [original / path for path in recipe.tests.protected]
    return [path for path in found if path.is_file() and not any(path.is_relative_to(one) for one in protected)]


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what can be made wrong, inside functions."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield function
            for node in ast.walk(function):
                is_number = isinstance(node, ast.Constant) and type(node.value) is int
                if is_number or isinstance(node, ast.If) or (isinstance(node, ast.Compare) and len(node.ops) == 1):
                    yield node


def make_wrong(node: ast.AST, chance: random.Random) -> str:
    """Change *node* in its place and return what was done."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            value = chance.choice(CONSTANTS)
            node.body = [python_tree(f"return {value!r}").body[0]]
            return f"{node.name} returns {value!r}"
        case ast.If():
            taken = chance.random() < 0.5
            node.test = ast.Constant(value=taken)
            return f"line {node.lineno}: if {taken}"
        case ast.Compare(ops=[operator]):
            node.ops = [SHIFTED.get(type(operator), type(operator))()]
            return f"line {node.lineno}: {type(operator).__name__} shifted"
        case ast.Constant(value=int() as value):
            node.value = value + chance.choice((-1, 1))
            return f"line {node.lineno}: {value} is {node.value}"
    return "nothing"


def write_mutant(original: Path, recipe: Recipe, target: Path, chance: random.Random) -> str:
    """Write the library with some faults below *target* and return which."""
    trees = {path: python_tree(path.read_bytes()) for path in sources(original, recipe)}
    candidates = [(path, node) for path, tree in trees.items() for node in places(tree)]
    done = []
    for path, node in chance.sample(candidates, min(len(candidates), chance.randint(1, 3))):
        done.append(f"{path.name} {make_wrong(node, chance)}")
    write_library(original, trees, target)
    return "; ".join(done)


def write_equal(original: Path, recipe: Recipe, target: Path, number: int) -> str:
    """Write the library with its *number*-th `__eq__` always true and return which; nothing without as many."""
    trees = {path: python_tree(path.read_bytes()) for path in sources(original, recipe)}
    candidates = [
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__eq__"
    ]
    if number >= len(candidates):
        return ""
    path, node = candidates[number]
    node.body = [python_tree("return True").body[0]]
    write_library(original, trees, target)
    return f"{path.name} line {node.lineno}: __eq__ returns True"


def write_library(original: Path, trees: Mapping[Path, ast.Module], target: Path) -> None:
    """Write *trees*, by their paths in *original*, below *target*."""
    for path, tree in trees.items():
        place = target / path.relative_to(original)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")


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
    suite = services(settings)
    tasks = {task.id: task for task in suite.tasks()}
    counts: Counter[str] = Counter()
    async with equipment(settings.sandbox, settings) as tools:
        for name, number in product(names, range(each)):
            with tempfile.TemporaryDirectory() as folder:
                tree, scratch = Path(folder, "tree"), Path(folder, "scratch")
                tree.mkdir()
                scratch.mkdir()
                bench = tools.bench(scratch, None)
                await suite.reference(tasks[name], "oracle", tree, bench)
                faults = make_faulty(tree, random.Random(f"{seed}:{name}:{number}"))
                verdict = (await suite.graders()["strict"].grade(tasks[name], tree, bench)).verdict
                counts[verdict.status.value] += 1
                score = verdict.score
                told = "-" if score is None else f"{score.numerator:g}/{score.denominator:g}"
                print(f"{verdict.status} {name} {told} {verdict.facts.get('signs')} {faults}", flush=True)
    return counts


async def grade_mutants(asked: argparse.Namespace) -> Counter[str]:
    """Grade so many mutants of each task, some at once, and return how often each status came."""
    settings = load()
    suite, recipes = create(settings), shipped_recipes()
    grader = suite.graders()[asked.grader]
    counts: Counter[str] = Counter()
    gate = asyncio.Semaphore(asked.jobs)
    with tempfile.TemporaryDirectory() as folder:
        async with equipment(settings.sandbox, settings) as tools:

            async def one(name: str, number: int) -> None:
                async with gate:
                    room = Path(folder, f"{name}-{number}")
                    (room / "scratch").mkdir(parents=True)
                    task = next(task for task in suite.tasks() if task.id == name)
                    recipe = recipes[name]
                    bench: Bench = tools.bench(room / "scratch", asked.timeout)
                    original = (await bench.builder.source(recipe.source_request())).path
                    if asked.equal:
                        faults = write_equal(original, recipe, room / "tree", number)
                    else:
                        chance = random.Random(f"{asked.seed}:{name}:{number}")
                        faults = write_mutant(original, recipe, room / "tree", chance)
                    if not faults:
                        return
                    graded = await grader.grade(task, room / "tree", bench)
                    counts[graded.verdict.status.value] += 1
                    facts = graded.verdict.facts
                    both, unseen = facts.get("passed_with_false_expectations", 0), facts.get("not_seen_to_fail", 0)
                    counts["tests that passed both ways"] += int(both or 0)
                    counts["tests not seen to fail"] += int(unseen or 0)
                    traced, lost = facts.get("traced", 0), facts.get("not_confirmed_by_trace", 0)
                    counts["tests that the trace did not confirm"] += int(lost or 0)
                    counts["tests that passed"] += int(facts["passed"] or 0)
                    score = f"{facts['passed']}/{facts['expected']}"
                    counts["called memorised"] += "memorised" in str(facts.get("signs"))
                    kept = f"{facts.get('fresh_kept', '-')}/{facts.get('fresh_known', '-')}"
                    print(
                        f"{graded.verdict.status} {name} {score} both={both} unseen={unseen} traced={traced} "
                        f"lost={lost} fresh={kept} {faults}",
                        flush=True,
                    )
                    remove_tree(room)

            await asyncio.gather(*(one(name, number) for number in range(asked.each) for name in asked.tasks))
    return counts


def main() -> int:
    """Grade and summarise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--equal", action="store_true", help="an `__eq__` that is always true, and no other fault")
    parser.add_argument("--services", action="store_true", help="the tasks are RepoGenesis'")
    parser.add_argument("--grader", choices=("strict", "trace"), default="strict")
    parser.add_argument("--timeout", type=float, help="seconds for all tests, so that endless loops end sooner")
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.services:
        counts = asyncio.run(grade_services(asked.tasks, asked.each, asked.seed))
    else:
        counts = asyncio.run(grade_mutants(asked))
    print(dict(counts), f"in {time.monotonic() - began:.0f} s")
    return 1 if counts["tampered"] or counts["called memorised"] else 0


if __name__ == "__main__":
    sys.exit(main())
