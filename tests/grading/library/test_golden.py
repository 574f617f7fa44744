"""What runs of hidden tests are worth, with every sentence, and what of a tree goes into the tested one.

`python -m tests.grading.library.test_golden` writes golden/library.txt anew: read what changed.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.verdicts import Reason, Stage
from groundup.grading.last_words import LastWords
from groundup.grading.library.composition import Dropped, FoundEntry, plan
from groundup.grading.library.decision import FatalTest, as_fact, decide, explained, reason, signs_of
from groundup.grading.library.hidden import Distribution, Extensions, HiddenTests, NumberedTest
from groundup.grading.library.layout import laid_out
from groundup.grading.library.report import ImportCheck, Observations, Result, RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending

GOLDEN = Path(__file__).parent / "golden" / "library.txt"
HIDDEN = HiddenTests(packages=("calc", "calc.deep"), arguments=("tests",), protected=("tests", "data/in.txt"))
SRC, BELOW = HIDDEN.but(import_roots=("src", ".")), HIDDEN.but(import_roots=("src", "lib"))
LOST = Result(
    outcome="failed", message="assert 1 == 2", detail="d", demand="e", calls="c", probably="p", duration_s=0.5
)
RAN = {NumberedTest("tests/test_a.py::one"): Result(outcome="passed", duration_s=0.1)}
MIXED = RAN | {
    NumberedTest("tests/test_a.py::two"): LOST,
    NumberedTest("tests/test_a.py::one", 2): LOST.but(outcome="error", message="at /workspace/calc.py"),
    NumberedTest("tests/test_own.py::extra"): LOST.but(outcome="passed"),
    NumberedTest("tests/test_own.py::lost"): LOST,
}
EXPECTED = frozenset(
    {*MIXED, *(NumberedTest.parse(f"tests/test_{name}") for name in ("b.py::x", "b.py::y", "c.py::z"))}
)
EXPECTED -= {NumberedTest("tests/test_own.py::extra"), NumberedTest("tests/test_own.py::lost")}
HERE = {name: ImportCheck(file=f"/workspace/{name}/__init__.py", error=None) for name in ("calc", "calc.deep")}
WHOLE = RunnerReport(results=MIXED, imports=HERE, exit_code=1, collected=5)
STACK = b'Stack (most recent call first):\n  File "/workspace/calc/deep.py", line 7 in turn\n'
CRASHED = FatalTest(
    NumberedTest("tests/test_b.py::x"), stop=LastWords("crashed with SIGSEGV", "calc/deep.py, line 7", "stack")
)
HUNG = FatalTest(NumberedTest("tests/test_c.py::z"), Ending.TIMEOUT, True, LastWords("ran for 9 s", "", "long"))
FULL = FatalTest(NumberedTest("tests/test_b.py::y"), Ending.MEMORY, stop=LastWords("crashed with SIGSEGV"))


def _absent(error: str | None, name: str = "calc") -> RunnerReport:
    return WHOLE.but(imports={**HERE, name: ImportCheck(file=None, error=error)})


def _at(file: str) -> RunnerReport:
    return WHOLE.but(imports={**HERE, "calc": ImportCheck(file=file, error=None)})


NO_MODULE = "ModuleNotFoundError: No module named"
UNCOLLECTED = {
    "tests/test_b.py": "ImportError: no x (/workspace/calc.py, line 3)",
    "tests/test_c.py": "SyntaxError: z",
}
RUNS: dict[str, tuple[RunnerReport, dict[str, object]]] = {
    "mixed": (WHOLE, {}),
    "nothing collected": (WHOLE.but(results={}, exit_code=5), {}),
    "all passed": (WHOLE.but(results=dict.fromkeys(EXPECTED, Result(outcome="passed")), exit_code=0), {}),
    "hints": (
        WHOLE.but(lacking={"tests/test_a.py": ("calc.add", "calc.sub")}, filters_left_out=("a::B", "c::D")),
        {},
    ),
    "out of time": (
        WHOLE.but(exit_code=None, running=NumberedTest("t.py::r")),
        {"ending": Ending.TIMEOUT, "stderr": STACK},
    ),
    "wall clock": (WHOLE.but(exit_code=None), {"ending": Ending.WALL_CLOCK, "exit_code": None}),
    "memory": (WHOLE.but(running=NumberedTest("t.py::r", 3)), {"ending": Ending.MEMORY, "stderr": STACK}),
    "disk": (WHOLE, {"ending": Ending.DISK}),
    "broken off": (WHOLE.but(broken_off="SystemExit: 0", running=NumberedTest("t.py::r")), {}),
    "killed": (WHOLE.but(exit_code=None, running=NumberedTest("t.py::r")), {"exit_code": -11, "stderr": STACK}),
    "left": (WHOLE.but(exit_code=None), {"exit_code": 0}),
    "never ended": (WHOLE.but(exit_code=None), {"exit_code": None}),
    "gave up": (WHOLE.but(exit_code=4), {"stderr": b"E   ImportError: no\n"}),
    "gave up, silent": (WHOLE.but(exit_code=3, running=NumberedTest("t.py::r")), {}),
    "absent": (_absent(f"{NO_MODULE} 'calc'"), {"kept": ["a/calc/__init__.py", "z/calc.py"]}),
    "absent, other": (_absent(f"{NO_MODULE} 'yaml'"), {"kept": ["a/calc/__init__.py"]}),
    "absent, above": (_absent(f"{NO_MODULE} 'calc'", "calc.deep"), {"kept": ["deep.py"]}),
    "absent, empty": (_absent(f"{NO_MODULE} 'calc'"), {"kept": []}),
    "no file": (_absent(None), {}),
    "unsaid": (WHOLE.but(imports={"calc": HERE["calc"]}), {"kept": ["x/calc/deep.py", "x/calc/deep/__init__.py"]}),
    "no imports": (WHOLE.but(imports={}), {}),
    "misplaced": (_at("/usr/lib/python3/calc.py"), {}),
    "elsewhere": (_at("/workspace/calc/deep/x.py"), {"hidden": BELOW}),
    "in tests below": (_at("/workspace/tests/calc.py"), {"hidden": BELOW}),
    "in tests": (_at("/workspace/tests/calc.py"), {}),
    "uncollected": (WHOLE.but(collection_errors=UNCOLLECTED), {}),
    "one uncollected": (WHOLE.but(results=RAN, collection_errors={"tests/test_c.py": "SyntaxError: z"}), {}),
    "uncollected, told": (_absent("ImportError: no x (calc.py, line 1)").but(collection_errors=UNCOLLECTED), {}),
    "ended": (WHOLE, {"ended": [CRASHED, FULL, HUNG]}),
    "ended, group": (WHOLE, {"ended": [CRASHED, CRASHED._replace(test=NumberedTest("tests/test_a.py::one"))]}),
    "ended, whole": (WHOLE, {"ended": [CRASHED._replace(whole_file=True)]}),
}
SEEN = Observations(changed=("json.dumps", "os.read"), frames=("calc.py:1",), processes=2, clock_s=2.5)
SIGNS: dict[str, tuple[RunnerReport, int | None, float]] = {
    "none": (WHOLE.but(observed=Observations(clock_s=2.0)), 1, 1.0),
    "all": (WHOLE.but(observed=SEEN, repeated=2, foreign=3, collected=8), 1, 1.0),
    "unseen": (WHOLE.but(collected=6), 1, 1.0),
    "unseen, incomplete": (WHOLE.but(exit_code=2, collected=9), 1, 1.0),
    "no end": (WHOLE.but(exit_code=None), 0, 1.0),
    "no end, died": (WHOLE.but(exit_code=None), 1, 1.0),
    "no end, no results": (WHOLE.but(exit_code=None, results={}), 0, 1.0),
    "long": (WHOLE.but(results={NumberedTest("a"): Result(outcome="passed", duration_s=7.2)}), 1, 1.0),
    "just": (WHOLE.but(results={NumberedTest("a"): Result(outcome="passed", duration_s=7.0)}), 1, 1.0),
}
LEFT_OUT = [
    Dropped("conftest.py", "a conftest"),
    Dropped("json.py", "would stand in for the module json"),
    Dropped("a/data.txt", "a pipe"),
    Dropped("b/data.txt", "a socket"),
]
WHYS = [
    reason(Stage.IMPORT, "calc cannot be imported: No module named 'yaml'"),
    reason(Stage.IMPORT, "calc cannot be imported: No module named 'calc.deep'"),
    reason(Stage.IMPORT, "calc cannot be imported: No module named 'json'"),
    reason(Stage.IMPORT, "calc cannot be imported: No module named 'test_more'"),
    reason(Stage.TEST, "No such file or directory: '/workspace/data.txt'"),
    reason(Stage.TEST, "No such file or directory: 'json.py'"),
    reason(Stage.TEST, "No module named 'helper'"),
    reason(Stage.TEST, "\x1b[31mred\x1b[0m\x07" + "é" * 200),
    reason(Stage.TEST, "e" * 240),
    reason(Stage.TEST, "e" * 241),
]
NAMES = """
calc/ calc/__init__.py calc/one.py calc/conftest.py calc/one.pyc calc/__pycache__/ calc/__pycache__/one.pyc
calc/setup.cfg calc.py json.py json/ json/__init__.py telnetlib.py pytest.py pluggy/ yaml.so yaml.txt yaml/
helper.py test_own.py data.py tests/ tests/test_a.py tests/more.py conftest.py conftest.pyc conftest.txt setup.cfg
pyproject.toml pytest.ini .pytest.ini tox.ini sitecustomize.py usercustomize.so x.pth calc-1.dist-info/
calc-1.dist-info/METADATA calc.egg-info calc.egg-link one.pyo data/ data/in.txt data/in.txt/x data/other.txt code/
code/__init__.py code/py/ code/py/json.py code/py/pytest.ini src/ src/calc.py src/yaml.py plug.py timed/ timed/x.py
README docs/ docs/conf.py
"""
ORIGINAL = """
tests/ tests/test_a.py tests/helper.py tests/__pycache__/x.pyc tests/old.pyc tests/sub/__init__.py
tests/sub/test_s.py tests/sub/inner.py data/ data/in.txt timed/x_test.py timed/near.py calc/ calc/__init__.py
"""
TREES = {
    "usual": HIDDEN,
    "src": SRC.but(plugins=("plug.inner",), absent=("docs",)),
    "below": HIDDEN.but(import_roots=("code/py",), cwd="data", protected=("tests", "timed")),
    "backport": HIDDEN.but(packages=("json", "yaml"), arguments=("calc/test.py",)),
}
SCM = "[tool.setuptools_scm]\nversion_file = "
PROJECTS: dict[str, tuple[HiddenTests, dict[str, str]]] = {
    "as it was": (HIDDEN, {"calc/__init__.py": ""}),
    "module": (HIDDEN, {"calc.py": ""}),
    "below src": (
        HIDDEN.but(child_path=("x",), generated={"calc/v.py": "1", "calc/e/": "", "o/v.py": "2"}),
        {"src/calc/__init__.py": ""},
    ),
    "below python": (HIDDEN, {"python/calc/__init__.py": "", "lib/other.py": ""}),
    "two missing": (
        HIDDEN.but(packages=("calc", "more")),
        {"src/calc/__init__.py": "", "lib/calc.py": "", "lib/more.py": ""},
    ),
    "declared": (
        HIDDEN,
        {"code/calc/__init__.py": "", "pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["code"]\n'},
    ),
    "renamed": (HIDDEN, {"inner/__init__.py": "", "setup.cfg": "[options]\npackage_dir =\n    calc = inner\n"}),
    "outside": (HIDDEN, {"setup.cfg": "[options]\npackage_dir =\n    calc = ../inner\n"}),
    "tests inside": (HIDDEN.but(protected=("calc/tests",)), {"src/calc/__init__.py": "", "src/calc/a.py": ""}),
    "taken": (HIDDEN.but(protected=("calc/tests",)), {"src/calc/__init__.py": "", "calc": "a file"}),
    "extensions": (HIDDEN.but(extensions=Extensions(outputs=("*.so",))), {"src/calc/__init__.py": ""}),
    "scm": (HIDDEN, {"calc/__init__.py": "", "pyproject.toml": SCM + '"calc/_v.py"\n'}),
    "scm, own": (
        HIDDEN,
        {
            "calc.py": "",
            "pyproject.toml": '[tool.setuptools_scm]\nwrite_to = "calc/v.py"\nfallback_version = "1.2.dev3"\n',
        },
    ),
    "hatch": (
        HIDDEN.but(distribution=Distribution(name="calc", version="4.5"), generated={"z.py": ""}),
        {"calc.py": "", "pyproject.toml": '[tool.hatch.build.hooks.vcs]\nversion-file = "calc/v.py"\n'},
    ),
    "scm, outside": (HIDDEN, {"calc.py": "", "pyproject.toml": SCM + '"v.py"\n'}),
    "scm, up": (HIDDEN, {"calc.py": "", "pyproject.toml": SCM + '"calc/../v.py"\n'}),
    "scm, text": (HIDDEN, {"calc.py": "", "pyproject.toml": SCM + '"calc/v.txt"\n'}),
    "scm, tests": (
        HIDDEN.but(protected=("calc/t",)),
        {"calc/__init__.py": "", "pyproject.toml": SCM + '"calc/t/v.py"\n'},
    ),
}


def _decided(name: str) -> Iterator[str]:
    report, said = RUNS[name]
    own = {"exit_code": 1, "ending": Ending.EXITED, "stdout": b"", "stderr": b"", "duration_s": 12.0}
    result = CommandResult.model_validate(own | {key: said[key] for key in own if key in said})
    ended, kept = said.get("ended", ()), said.get("kept")
    got = decide(EXPECTED, said.get("hidden", HIDDEN), report, result, ended, kept)  # type: ignore[arg-type]
    late = " timed out" * got.timed_out
    counts = f"{got.passed} of {got.expected}, {got.passed_before_end} before its end, {got.extra_passed} more"
    yield f"== {name}: {counts}{late}"
    yield from (f"{why.stage}: {why.message}" for why in got.reasons)
    for one in got.results:
        words = [one.message, one.detail, one.demand, one.calls, one.probably, *one.lacks]
        own_words = " ".join(filter(None, words))
        yield f"  {one.id} {one.outcome}{'' if one.expected else ' (own)'} {one.duration_s}: {own_words}".rstrip()


def _signs(name: str) -> str:
    report, code, took_s = SIGNS[name]
    result = CommandResult(exit_code=code, ending=Ending.EXITED, stdout=b"", stderr=b"", duration_s=took_s)
    return f"{name}: {as_fact(signs_of(report, result))}"


def _entries(names: str) -> list[FoundEntry]:
    return [FoundEntry(name.rstrip("/"), "folder" if name.endswith("/") else "file") for name in names.split()]


def _planned(name: str) -> Iterator[str]:
    strange = [FoundEntry("pipe", "fifo"), FoundEntry("link.py", "link"), FoundEntry("odd\n.pth", "file")]
    got = plan(_entries(NAMES) + strange, _entries(ORIGINAL), TREES[name], frozenset({"yaml"}))
    yield f"== tree, {name}"
    yield f"kept: {' '.join(sorted(got.kept))}"
    yield f"restored: {' '.join(sorted(got.restored))}"
    yield from (f"  {one.path}: {one.why}" for one in got.dropped)


def _laid_out(name: str, folder: Path) -> Iterator[str]:
    hidden, files = PROJECTS[name]
    tree = folder / name.replace(" ", "-")
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    laid, tests = laid_out(tree, hidden, folder)
    changed = {key: value for key, value in tests.model_dump().items() if value != hidden.model_dump()[key]}
    moved = sorted(str(path.relative_to(laid)) for path in laid.rglob("*")) if laid != tree else ""
    yield f"{name}: {changed} {moved}".rstrip()


def _explained(why: Reason) -> str:
    told = explained(why, LEFT_OUT, ["calc/__init__.py", "helper.py"], HIDDEN)
    return f"{told.stage}: {told.message}"


def _all(folder: Path) -> str:
    lines = [line for name in RUNS for line in _decided(name)]
    lines += ["", "== signs", *map(_signs, SIGNS), as_fact(["s" * 200, "t" * 200])]
    lines += ["", "== explained", *map(_explained, WHYS), ""]
    lines += [line for name in TREES for line in _planned(name)]
    lines += ["", "== where packages lie", *(line for name in PROJECTS for line in _laid_out(name, folder))]
    return "\n".join(lines) + "\n"


def test_runs_and_trees_come_to_what_is_recorded(tmp_path: Path) -> None:
    """Counts, reasons, results, signs and what of a tree stays, from many kinds of runs and of submissions."""
    assert _all(tmp_path) == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(_all(Path(place)), encoding="utf-8")
