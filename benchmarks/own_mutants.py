"""Random faults in groundup's own modules: does a test fail? What lives shows a promise that no test keeps.

    python -m benchmarks.own_mutants domain trees --each 4 --json FILE [--seed 1] [--limit-s 60]
    python -m benchmarks.own_mutants domain groundup_board --some 5 --json FILE
    python -m benchmarks.own_mutants --json FILE            # the table of what FILE holds

Makes `--each` mutants of every module of a folder, or `--some` of the whole folder, each with one fault, and
runs the tests nearest to it (`nearest_tests`) until one fails. These are collected once. For each mutant this
process forks, and the code with the fault is put into the functions that were imported. With `--then 60`, what
none of the nearest notices meets further tests, up to so many, with as much more time: CI runs them all. What no
test notices so is tried again with the fault in its file, by a process that imports groundup anew: only there is
it in what runs at import, and in programs that tests start. (`inside` and `sandbox/launcher` are such programs,
whose files get their faults at once.) Files are put back, but use a checkout in which nobody works. A test that
fails without the fault, too, catches nothing, and those after it run. One whose tests outlast the limit is
`slow`: nobody knows, and it counts as neither. FILE gets a line for each mutant, and what it has is not done
again. One that changes nothing anybody could see is named in `samples/equivalent_mutants.txt`, by hand, and
counts as neither. What no test notices is given to mypy, which `.ci/run` runs beside the tests: what it refuses
is `types`, and the table says how many of the caught are caught so alone.

A fault in what keeps a sandbox from the machine, or changes the machine's own folders, lets tests that attack it
through. As root they changed /dev/null once, and ended every process. Root is given no such mutants.
"""

import argparse
import ast
import gc
import importlib
import importlib.util
import json
import multiprocessing
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.nearest_tests import NearestTests

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).parent / "samples" / "equivalent_mutants.txt"
KEEPS_THE_MACHINE = (
    "groundup/sandbox",
    "groundup/inside/supervisor.py",
    "groundup/inside/undoing.py",
    "groundup_bridges",
)
"""Sources whose faults reach the machine where root runs them."""
_FILES = 20
"""The nearest files of tests, of which the nearest tests are taken."""
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


class Mutant(NamedTuple):
    """One fault in one module."""

    module: str
    fault: str
    tree: ast.Module
    words: frozenset[str] = frozenset()
    """Names and texts of the function that has the fault, by which tests are found that reach it."""
    source: str = ""
    """The module's text with the fault and all its comments; empty where the fault lies in an f-string."""


def module_paths(folder: str) -> list[Path]:
    """Return the modules of a folder of groundup or a package beside it that may get faults.

    Without mere docstrings, and for root without what keeps the machine safe.
    """
    place = ROOT / "src" / folder if folder.startswith("groundup_") else ROOT / "src" / "groundup" / folder
    paths = [place.with_suffix(".py")] if not place.is_dir() else sorted(place.rglob("*.py"))
    kept = [ROOT / "src" / one for one in KEEPS_THE_MACHINE] if os.geteuid() == 0 else []
    safe = [path for path in paths if not any(path.is_relative_to(one) for one in kept)]
    return [path for path in safe if len(ast.parse(path.read_text(encoding="utf-8")).body) > 1]


def module_name(path: Path) -> str:
    """Return the dotted name of a module."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def mutants_of(path: Path, each: int, seed: int) -> Iterator[Mutant]:
    """Yield *each* mutants of a module; the same *seed* gives the same."""
    chance = random.Random(f"{seed} {module_name(path)}")
    places = _places(path)
    for number in chance.sample(places, min(each, len(places))):
        yield _mutant(path, number, chance)


def some_mutants(paths: Sequence[Path], some: int, seed: int) -> Iterator[tuple[Path, Mutant]]:
    """Yield *some* mutants of all modules in *paths*, each place as likely as any other."""
    chance = random.Random(f"{seed} {module_name(paths[0])}")
    places = [(path, number) for path in paths for number in _places(path)]
    for path, number in chance.sample(places, min(some, len(places))):
        yield path, _mutant(path, number, chance)


def _places(path: Path) -> list[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    return [number for number, node in enumerate(ast.walk(tree)) if _is_place(node) and id(node) in inside]


def _mutant(path: Path, number: int, chance: random.Random) -> Mutant:
    text = path.read_text(encoding="utf-8")
    changed = ast.parse(text)
    node = next(node for at, node in enumerate(ast.walk(changed)) if at == number)
    before, place = ast.unparse(node)[:70], _place_in(text, node)
    after = _make_wrong(node, chance)
    fault = f"line {getattr(node, 'lineno', 0)}: {before} -> {after[:70]}"
    words = frozenset[str]().union(*(_words(one) for one in _around(changed, node)))
    tree = ast.fix_missing_locations(changed)
    return Mutant(module_name(path), " ".join(fault.split()), tree, words, _source(text, place, node, tree))


def _place_in(text: str, node: ast.AST) -> slice:
    """Return where the part of *node* that gets a fault is in the bytes of *text*."""
    part = node.test if isinstance(node, (ast.If, ast.IfExp)) else node
    assert isinstance(part, (ast.expr, ast.stmt))
    assert part.end_lineno is not None
    assert part.end_col_offset is not None
    begins = list(accumulate((len(line) for line in text.encode().splitlines(keepends=True)), initial=0))
    return slice(begins[part.lineno - 1] + part.col_offset, begins[part.end_lineno - 1] + part.end_col_offset)


def _source(text: str, place: slice, node: ast.AST, tree: ast.Module) -> str:
    part = ast.unparse(node.test if isinstance(node, (ast.If, ast.IfExp)) else node)
    whole, put = text.encode(), part if isinstance(node, ast.stmt) else f"({part})"
    source = (whole[: place.start] + put.encode() + whole[place.stop :]).decode()
    try:
        return source if ast.dump(ast.parse(source)) == ast.dump(tree) else ""
    except SyntaxError:
        return ""


def _around(tree: ast.Module, node: ast.AST) -> Iterator[ast.AST]:
    for one in tree.body:
        if any(inner is node for inner in ast.walk(one)):
            yield one if not isinstance(one, ast.ClassDef) else ast.Name(one.name)
            yield from (
                method for method in ast.walk(one) if isinstance(method, _FUNCTIONS) and node in ast.walk(method)
            )


def _words(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Constant(value=str() as text):
                yield from _WORD.findall(text)


_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _is_place(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[operator]):
            return type(operator) in _SWAPPED
        case ast.BoolOp() | ast.If() | ast.IfExp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BinOp(op=operator):
            return type(operator) in _SWAPPED
        case ast.Constant(value=value):
            return type(value) in (int, bool)
        case ast.Return(value=value):
            return value is not None and not isinstance(value, ast.Constant)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue():
            return True
    return False


def _make_wrong(node: ast.AST, chance: random.Random) -> str:
    """Change *node* in its place, and return how it reads then."""
    match node:
        case ast.Compare():
            node.ops = [_SWAPPED[type(node.ops[0])]()]  # type: ignore[list-item]  # an operator gives an operator
        case ast.BoolOp() | ast.BinOp():
            node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
        case ast.UnaryOp():
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        case ast.If() | ast.IfExp():
            taken = chance.random() < 0.5
            node.test = ast.Constant(value=taken)
            return f"if {taken}"
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + chance.choice((-1, 1))
        case ast.Return():
            node.value = ast.Constant(value=None)
        case ast.Continue():
            vars(node).clear()
            node.__class__ = ast.Break  # type: ignore[assignment]
        case ast.Expr() | ast.AugAssign():
            vars(node).update(value=ast.Constant(value=None), lineno=node.lineno, col_offset=0)
            node.__class__ = ast.Expr
            return "nothing"
    return ast.unparse(node)


class Drawn(NamedTuple):
    """A mutant, and its tests: those of *most* functions, and where none of them fails, *then* so many in all."""

    folder: str
    path: Path
    mutant: Mutant
    tests: NearestTests
    most: int
    then: int = 0

    def line(self, end: str, test: str, seconds: float) -> dict[str, str]:
        """Return what is recorded of it."""
        module, fault = self.mutant[:2]
        line = {"folder": self.folder, "module": module, "fault": fault, "end": end, "test": test}
        return {**line, "seconds": f"{seconds:.0f}"}


def forked(work: Callable[[], str], limit_s: float) -> tuple[str, str]:
    """Return what *work* says in a forked process: how a mutant ended there, and the test that caught it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.close(reading)
        _say(work, writing)
    os.close(writing)
    while not (ready := select.select([reading], [], [], 1.0 if limit_s > 1 else limit_s)[0]):
        if _spent_s(child) >= limit_s:
            break
    end, _, test = (os.read(reading, 4000).decode() if ready else "slow").partition(" ")
    os.close(reading)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return end or "caught", test  # it died


def _say(work: Callable[[], str], writing: int) -> None:
    try:
        _silence(0, 1, 2)
        word = work()
    except BaseException:  # noqa: BLE001  # whatever a mutant does, this process ends here
        word = "caught"
    os.write(writing, word.encode()[:4000])
    os._exit(0)


def _silence(*descriptors: int) -> None:
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(silent, descriptor)


def _spent_s(child: int) -> float:
    """Return the processor time of a child, and of what it waited for, and an eighth of the clock."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    spent_s = sum(map(int, fields[11:15])) / ticks
    began_s = int(fields[19]) / ticks
    return max(spent_s, (time.clock_gettime(time.CLOCK_BOOTTIME) - began_s) / 8)


def plant(path: Path, tree: ast.Module) -> bool:
    """Put a mutant's code into the functions of a module that this process has, and say whether there were any."""
    made = {_place_of(code): code for code in _codes(compile(tree, str(path), "exec"))}
    found = False
    for function in gc.get_objects():
        if type(function) is not FunctionType or function.__code__.co_filename != str(path):
            continue
        code = made.get(_place_of(function.__code__), function.__code__)
        if code != function.__code__ and function.__name__ != "<lambda>":
            with suppress(ValueError):  # one that needs other names of the function around it
                function.__code__ = code
                found = True
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _place_of(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _is_program(mutant: Mutant) -> bool:
    return mutant.module.startswith(("groundup.inside.", "groundup.sandbox.launcher."))


@contextmanager
def written(mutant: Mutant, path: Path) -> Iterator[None]:
    """Hold a fault in its file, and put back what was there."""
    text, times = path.read_bytes(), path.stat()
    try:
        path.write_text(ast.unparse(mutant.tree), encoding="utf-8")
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


class FirstFailure:
    """A plug-in of pytest that knows which test failed first."""

    test = ""

    def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
        """Keep the name of the test that fails first."""
        self.test = self.test or (report.nodeid if report.failed else "")


class _Collected(FirstFailure):
    """A plug-in of pytest that runs what was collected for each mutant, in place of once."""

    def __init__(self, drawn: Sequence[Drawn], limit_s: float, record: Callable[[dict[str, str]], None]) -> None:
        self._drawn, self._limit_s, self._record = drawn, limit_s, record

    def pytest_runtestloop(self, session: "pytest.Session") -> bool:
        """Record how each mutant ended."""
        for one in self._drawn:
            began = time.monotonic()
            end, test = self._end_of(one, one.tests.tests(session.items, one.most), self._limit_s)
            if end == "lives" and one.then > one.most:
                further = one.tests.tests(session.items, one.then, one.most)
                end, test = self._end_of(one, further, self._limit_s * one.then / one.most)
            self._record(one.line(end, test, time.monotonic() - began))
        return True

    def _end_of(self, one: Drawn, items: "Sequence[pytest.Item]", limit_s: float) -> tuple[str, str]:
        while True:
            with written(one.mutant, one.path) if _is_program(one.mutant) else nullcontext():
                end, test = forked(partial(self._run, items, one), limit_s)
            at = next((at for at, item in enumerate(items) if item.nodeid == test), None)
            if at is None or forked(partial(self._run, items[at : at + 1], None), limit_s)[0] != "caught":
                return end, test
            items = items[at + 1 :]

    def _run(self, items: "Sequence[pytest.Item]", one: Drawn | None) -> str:
        if one and not plant(one.path, one.mutant.tree) and not _is_program(one.mutant):
            return "lives"
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.test:
                return f"caught {self.test}"
        return "lives"


_ARGUMENTS = ("-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


def run_collected(drawn: Sequence[Drawn], limit_s: float, record: Callable[[dict[str, str]], None]) -> None:
    """Collect the tests of all mutants once, and hand *record* the line of each."""
    import pytest

    _silence(0, 1)
    for one in drawn:
        if not _is_program(one.mutant):
            with suppress(ImportError):  # a reference service's packages are in its own environment alone
                importlib.import_module(one.mutant.module)
    files = dict.fromkeys(file for one in drawn for file in one.tests.files(_FILES))
    pytest.main([*_ARGUMENTS, *files], [_Collected(drawn, limit_s, record)])


class _Nearest(FirstFailure):
    """Runs the nearest of what was collected, in a process that has nothing of groundup, less *without*."""

    def __init__(self, one: Drawn, without: frozenset[str]) -> None:
        self._one, self._without = one, without

    def pytest_collection_modifyitems(self, items: "list[pytest.Item]") -> None:
        """Put the nearest first, and leave out the others."""
        near = self._one.tests.tests(items, self._one.most)
        items[:] = [item for item in near if item.nodeid not in self._without]


def run_anew(files: Sequence[str], limit_s: float, first: FirstFailure) -> tuple[str, str]:
    """Return how tests end in a process that has nothing of groundup: caught, slow or lives; and by which."""
    return forked(partial(_run_files, files, first), limit_s)


def _run_files(files: Sequence[str], first: FirstFailure) -> str:
    import pytest

    sys.dont_write_bytecode = True  # of a file that is put back
    return f"caught {first.test}" if pytest.main([*_ARGUMENTS, *files], [first]) not in (0, 5) else "lives"


def _try_in_its_file(one: Drawn, limit_s: float) -> dict[str, str]:
    began = time.monotonic()
    without = frozenset[str]()
    while True:
        with written(one.mutant, one.path):
            end, test = run_anew(one.tests.files(_FILES), limit_s, _Nearest(one, without))
        if not test or run_anew([test], limit_s, FirstFailure())[0] != "caught":
            return {**one.line(end, test, time.monotonic() - began), "anew": "yes"}
        without |= {test}


def is_refused(mutant: Mutant, path: Path) -> bool:
    """Say whether mypy, as `.ci/run` runs it, refuses a module with its fault.

    Not for what can never run behind an `if False`: the fault stands for a condition that never holds.
    """
    if not mutant.source:
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(mutant.source)
        file.flush()
        shown = ["--shadow-file", str(path.relative_to(ROOT)), file.name]
        command = [sys.executable, "-m", "mypy", "--no-warn-unreachable", *shown]
        ended = subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return ended.returncode == 1 and ": error: " in ended.stdout


def table(lines: Sequence[dict[str, str]], equivalent: frozenset[str]) -> Iterator[str]:
    """Yield a table of what was caught in each folder, and then what lives."""
    yield "| folder | modules | mutants | equivalent | slow | caught | by mypy alone | of the others |"
    yield "|---|---|---|---|---|---|---|---|"
    for folder in dict.fromkeys(line["folder"] for line in lines):
        own = [line for line in lines if line["folder"] == folder]
        alike = sum(line["end"] == "lives" and _key(line) in equivalent for line in own)
        ends = Counter(line["end"] for line in own)
        caught, others = ends["caught"] + ends["types"], len(own) - alike - ends["slow"]
        modules = len({line["module"] for line in own})
        share = f"{100 * caught / max(1, others):.0f} %"
        counts = f"{modules} | {len(own)} | {alike} | {ends['slow']} | {caught} | {ends['types']}"
        yield f"| `{folder}` | {counts} | {share} |"
    for line in lines:
        if line["end"] == "lives" and _key(line) not in equivalent:
            yield f"lives: {_key(line)}"


def _key(line: dict[str, str]) -> str:
    return f"{line['module']} {line['fault'].partition(': ')[2]}"


def main() -> int:
    """Make mutants, run their tests, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="below src/groundup, or a package beside it")
    parser.add_argument("--each", type=int, default=3, help="of every module")
    parser.add_argument("--some", type=int, help="of every folder, in place of --each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=60, help="of processor time")
    parser.add_argument("--tests", type=int, default=100, help="the most functions to run, nearest first")
    parser.add_argument("--then", type=int, default=0, help="of what lives: functions in all, and more time")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--again", action="store_true", help="those that live, after tests were added")
    options = parser.parse_args()
    done = _lines(options.json)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    _load_what_is_not_ours()
    drawn = []
    for folder in options.folders:
        for path, mutant in _drawn(folder, options.each, options.some, options.seed):
            tests = NearestTests(ROOT, mutant.module, mutant.words)
            one = Drawn(folder, path, mutant, tests, options.tests, options.then)
            before = done.get(_key(one.line("", "", 0)))
            if before is None or (before["end"] == "lives" and (options.again or "anew" not in before)):
                drawn.append(one)
    with options.json.open("a", encoding="utf-8") as file:

        def record(line: dict[str, str]) -> None:
            print(json.dumps(line), file=file, flush=True)

        if drawn:
            arguments = drawn, options.limit_s, record
            session = multiprocessing.get_context("fork").Process(target=run_collected, args=arguments)
            session.start()
            session.join()
            done |= _lines(options.json)
        for one in drawn:
            key = _key(one.line("", "", 0))
            if key not in done or done[key]["end"] == "lives":
                done[key] = _try_in_its_file(one, options.limit_s)
                if done[key]["end"] == "lives" and is_refused(one.mutant, one.path):
                    done[key] |= {"end": "types"}
                record(done[key])
    equivalent = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    print("\n".join(table(list(done.values()), frozenset(equivalent))))
    return 0


def _lines(path: Path) -> dict[str, dict[str, str]]:
    given = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {_key(line): line for line in map(json.loads, given)}


def _drawn(folder: str, each: int, some: int | None, seed: int) -> Iterator[tuple[Path, Mutant]]:
    paths = module_paths(folder)
    if not paths:
        print(f"{folder}: no mutants, for root's could reach the machine", file=sys.stderr)
        return
    if some is not None:
        yield from some_mutants(paths, some, seed)
        return
    for path in paths:
        for mutant in mutants_of(path, each, seed):
            yield path, mutant


def _load_what_is_not_ours() -> None:
    for name in ("pytest", "hypothesis", "pydantic", "tree_sitter", "anyio", "httpx", "rich", "typer"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
