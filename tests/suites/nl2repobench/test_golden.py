"""Verdicts of `official` for many ends of published commands, what lies in its workspace, and what recipes say.

`python -m tests.suites.nl2repobench.test_golden` writes golden/official.txt anew: read what changed.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.domain.verdicts import Reason, Stage
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.protocol import Command, CommandResult, Ending, SandboxSpec
from groundup.suites.nl2repobench import official_rules as rules
from groundup.suites.nl2repobench.official import NL2RepoOfficialGrader
from groundup.suites.nl2repobench.official_workspace import Image, lay_out
from groundup.suites.nl2repobench.published_image import PublishedFiles, PublishedImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, own_names, parse_recipe, read_recipe
from tests.grading.library.laboratory import write_tree
from tests.sandbox.fake import FakeProvider
from tests.suites.nl2repobench.images import ImageBuilder, Published

GOLDEN = Path(__file__).parent / "golden" / "official.txt"
HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests", "data"))
OUTPUT = """tests/test_a.py ..F.s [ 50%]
...x [ 99%]
own/test_own.py .. [100%]
own/test_own.py::test_more[1] PASSED [100%]
tests/test_b.py E
FAILED tests/test_a.py::one - assert 1 == 2
ERROR tests/test_b.py - ImportError
FAILED tests/test_a.py::two
1 failed, 7 passed, 2 errors in 1.2s
3 passed
"""
PIP_FAILS = "Collecting x\nERROR: no\n  builtins.KeyError: 'x'\nnote: this\nerror: subprocess-exited\n"
PIP_PYTEST = ("pip install -e .", "pytest tests")
End = tuple[int | None, str, str, Ending]
ENDS: Mapping[str, tuple[tuple[str, ...], tuple[End, ...]]] = {
    "fine": (PIP_PYTEST, ((0, "ok\n", "warned", Ending.EXITED), (0, OUTPUT, "", Ending.EXITED))),
    "too many": (("pytest",), ((0, "12 passed", "", Ending.EXITED),)),
    "too few": (("pytest",), ((0, "3 passed", "", Ending.EXITED),)),
    "tests fail": (("pytest tests",), ((1, OUTPUT, "err", Ending.EXITED),)),
    "tests fail, unnamed": (("pytest tests",), ((-9, "1 failed", "", Ending.EXITED),)),
    "install fails": (PIP_PYTEST, ((1, PIP_FAILS, "", Ending.EXITED), (5, "", "", Ending.EXITED))),
    "in a shell": (("cd x && pip install .", "echo $HOME", "pytest"), ((127, "", "", Ending.EXITED),) * 3),
    "out of time": (("pip install", "pytest", "pytest more"), ((None, "2 passed", "", Ending.TIMEOUT),) * 3),
    "no memory": (("pip install", "pytest"), ((137, "", "", Ending.MEMORY),) * 2),
    "many fail": (("a", "b", "c", "d", "pytest"), ((2, "", "", Ending.EXITED),) * 5),
    "not to split": (('echo "', "", "pytest"), ((0, "4 passed", "", Ending.EXITED),)),
    "dead": (("pytest",), ((None, "", "", Ending.SANDBOX_DIED),)),
    "silent": (("pytest",), ((0, "", "", Ending.EXITED),)),
}  # fmt: skip
SUBMISSION = {
    "calc/__init__.py": "def turn(): ...",
    "own/test_own.py": "",
    "setup.py": "",
    "tests/test_a.py": "mine",
}
ORIGINAL = {
    "calc/__init__.py": "", "calc/setup.cfg": "", "tests/test_a.py": "theirs", "data/in.txt": "in",
    "README.rst": "x", "setup.py": "open('README.rst'), 'CHANGES.md', 'LICENSE'", "LICENSE": "free",
    "docs/deep/NEWS": "n", "NOTICE.py": "",
    "sub/requirements.txt": "x", "old/tests/test_o.py": "moved", "AUTHORS": "nobody looks",
}  # fmt: skip
RUN = PublishedRun(commands=("pytest",), test_files=("tests/", "docs"), moved={"now": "old/tests"})
IMAGES = {
    "plain": (HIDDEN, RUN, PublishedImage()),
    "absent": (HIDDEN, RUN, PublishedImage(tests=PublishedFiles(absent=("data", "docs/"), empty=("a/b",)))),
    "packages": (HIDDEN, RUN.but(moved={}), PublishedImage(packages=PublishedFiles(absent=("setup.py",)))),
    "generated": (
        HIDDEN.but(generated={"calc/v.py": "1", "out/v.txt": "2", "kept/": "", "data": ("*.txt",)}),
        RUN,
        PublishedImage(),
    ),
}  # fmt: skip
LAID: Mapping[str, Mapping[str, str]] = {
    "plain": SUBMISSION,
    "file on a folder": {"tests": "a file", "data": "", "calc.py": ""},
    "folder on a file": {"README.rst/x": "", "setup.py/y": ""},
    "brings its own": {
        "README.rst": "mine",
        "LICENSE/x": "",
        "MANIFEST.in": "x",
        "tox.ini": "",
        "sub/more.py": "",
    },
}
SAID = (
    "",
    "E: error\nValueError: x\n",
    "all well\nat last",
    "a\nfile not found: x\nb",
    "pip.Error: two\nNotFound: one",
)
COMMANDS = (
    "a && b",
    "a|b",
    "x; y",
    "ls *",
    "echo $HOME",
    "echo $5",
    "cd x",
    " export A",
    "pip cd",
    "`x`",
    "A=1 b",
)
LOCKED = "c" * 64
RECIPE = f"""
task = "calc"
notes = "n"
[source]
kind = "git"
name = "calc-lab"
version = "1.2"
repository = "host/own/calc"
commit = "{"a" * 40}"
tree_digest = "sha256:{"b" * 64}"
licence = "MIT"
[environment]
python = "3.11"
python_micro = "3.12.4"
exclude_newer = "2025-01-01T00:00:00Z"
wants = ["pytest"]
[environment.lock]
"pytest==9.0.0" = ["sha256:{LOCKED}"]
[environment.builders]
"wheel==1" = ["sha256:{LOCKED}"]
[tests]
packages = ["calc"]
arguments = ["tests"]
protected = ["tests"]
canary_name = "gone"
timed = ["tests/test_a.py::one"]
[tests.distribution]
name = "calc"
version = "1.2"
[declared]
781a1da = 3
[frozen]
pytest = "9"
runs = 3
duration_s = 1.5
original_lines = 7
[expected]
"tests/test_a.py" = ["::one[1]", "::one[2] #2", "::two"]
[floor]
"tests/test_a.py" = ["::two"]
[twin]
runs = 2
mixed = true
[twin.free]
"tests/" = ["test_a.py::two"]
"""
BROKEN = {
    "no TOML": "task = ",
    "another kind": RECIPE.replace('"git"', '"ftp"'),
    "a pin": RECIPE.replace("pytest==9.0.0", "pytest>=9"),
    "a hash": RECIPE.replace("sha256:c", "md5:c"),
    "unknown key": RECIPE.replace('notes = "n"', "more = 1"),
    "no lock": RECIPE.replace(".lock]", ".from_source]").replace(f'["sha256:{LOCKED}"]', f'"sha256:{LOCKED}"', 1),
    "floor": RECIPE.replace('["::two"]\n[twin]', '["::three"]\n[twin]'),
    "timed": RECIPE.replace("test_a.py::one\"]", "test_b.py::one\"]"),
    "expected": RECIPE.replace('["::one[1]", "::one[2] #2", "::two"]', "3"),
    "twin": RECIPE.replace('["test_a.py::two"]', "{a = 1}").replace("runs = 2", "runs = -1"),
    "tests": RECIPE.replace('packages = ["calc"]', "packages = []"),
}  # fmt: skip


async def _graded(name: str, folder: Path) -> str:
    commands, ends = ENDS[name]
    waiting = list(ends)

    def said(spec: SandboxSpec, command: Command) -> CommandResult:
        code, out, err, ending = waiting.pop(0)
        streams = {"stdout": out.encode(), "stderr": err.encode()}
        return CommandResult(exit_code=code, ending=ending, duration_s=0.5, truncated=name == "fine", **streams)

    provider = FakeProvider(said)
    published = Published(ORIGINAL, HIDDEN, frozenset({"tests/test_a.py::one"}), 11, commands, ("tests",))
    trees = [write_tree(folder / part, files) for part, files in (("o", ORIGINAL), ("s", SUBMISSION), ("e", {}))]
    context = GradingContext(
        provider=provider, builder=ImageBuilder(trees[2], trees[0]), scratch=folder / "scratch"
    )
    grader = NL2RepoOfficialGrader({"calc": published.recipe}, {}, "none")
    try:
        found = await grader.grade(published.task, trees[1], context)
    except GroundupError as error:
        return f"{type(error).__name__}: {error}"
    shown = found.verdict.model_dump(mode="json", exclude={"timings_s"}, exclude_defaults=True)
    logs = {log: text.decode() for log, text in found.logs.items()}
    spec = provider.specs[0].model_dump(mode="json", exclude={"workspace", "mounts"}, exclude_defaults=True)
    facts = [f"  {key}: {value}" for key, value in {**shown, "logs": logs}.items()]
    ran = [f"  ran {one.argv}, {one.timeout_s} s, {one.environment}" for one in provider.commands[:1]]
    told = "\n".join([*facts, *ran, f"  sandbox {spec}"]).replace(str(folder), "")
    python = str(shown["facts"]["python"])
    return f"certain {found.is_certain}\n{told}".replace(python, "PYTHON")


async def _laid(name: str, image: str, folder: Path) -> str:
    hidden, run, known = IMAGES[image]
    original, submission = write_tree(folder / "o", ORIGINAL), write_tree(folder / "s", LAID[name])
    found = await lay_out(submission, Image(original, hidden, run, known), folder / "scratch")
    paths = sorted(path for path in found.workspace.rglob("*") if path.is_file() or not any(path.iterdir()))
    lies = {str(path.relative_to(found.workspace)): path.read_text() if path.is_file() else "/" for path in paths}
    if found.refused is not None:  # how far it came before, the order of a folder decides
        lies = {}
    return (
        f"refused {found.refused}, deleted {found.deleted}, lent {found.lent}, own {sorted(found.own)}\n  {lies}"
    )


def _recipe(recipe: Recipe) -> Iterator[str]:
    yield f"{recipe.summary()}"
    yield f"{own_names(recipe)}, {recipe.form_of_tests}, {recipe.environment.has_stand_in}, {recipe.source.label}"
    for request in (
        recipe.source_request(),
        recipe.image_request(),
        recipe.graded_request(),
        recipe.environment.request(),
    ):
        yield f"{request!r}"
    yield f"{sorted(recipe.expected)}, {sorted(recipe.floor)}, {recipe.twin and sorted(recipe.twin.free)}"


def _read(name: str, folder: Path) -> str:
    path = folder / "calc.toml"
    try:
        if name == "bytes":
            path.write_bytes(b"task = \xff")
        return (
            str(read_recipe(path))
            if name in ("bytes", "nothing")
            else str(parse_recipe(BROKEN[name], "calc.toml"))
        )
    except GroundupError as error:
        return f"{type(error).__name__}: {error}".replace(str(folder), "")


def _folders(above: Path) -> Iterator[Path]:
    for number in range(1000):
        folder = above / str(number)
        folder.mkdir()
        yield folder


def _all(above: Path) -> Iterator[str]:
    folders = _folders(above)
    for name in ENDS:
        yield f"##### {name}: {asyncio.run(_graded(name, next(folders)))}"
    for image in IMAGES:
        for name in LAID:
            yield f"##### {name} over {image}: {asyncio.run(_laid(name, image, next(folders)))}"
    yield "##### outputs"
    for output in (*SAID, OUTPUT, PIP_FAILS, "FAILED " + "x" * 200):
        said = rules.CommandOutput(command="PyTest", output=output)
        yield f"{rules.first_error(said)!r} {rules.failing_tests(said)}"
        yield f"  {rules.passed_by_file([said])} {rules.count([said])}"
    yield f"{[*filter(rules.needs_shell, COMMANDS)]}"
    yield f"{[rules.success_rate(*pair) for pair in ((1, 2), (3, 2), (0, 0), (2, -1), (0, 4))]}"
    yield "##### recipes"
    recipe = parse_recipe(RECIPE, "calc.toml")
    other = PublishedImage(revision="d" * 40, tree_digest="sha256:" + "e" * 64)
    drafted = {"frozen": None, "source": recipe.source, "tests": recipe.tests.but(distribution=None)}
    for one in (recipe, recipe.but(image=other), recipe.but(**drafted)):
        yield from _recipe(one)
    yield from (f"{name}: {_read(name, next(folders))}" for name in (*BROKEN, "bytes", "nothing"))
    grader = NL2RepoOfficialGrader({"calc": recipe}, {})
    task = Published(ORIGINAL, HIDDEN, frozenset({"t"}), 3).task
    why = Reason(stage=Stage.INTAKE, message="no")
    yield f"{grader.reservation_mb(task)}, {grader.expected_s(task)}, {grader.zero(task, why)}"
    for bad in (lambda: grader.check(task), lambda: grader.zero(task.but(metadata={}), why)):
        try:
            bad()
        except GroundupError as error:
            yield f"{type(error).__name__}: {error}"


def test_official_grading_is_as_recorded(tmp_path: Path) -> None:
    """Scores, facts, reasons, logs, sandboxes, workspaces, and the sentences for recipes that cannot be read."""
    assert "\n".join(_all(tmp_path)) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text("\n".join(_all(Path(place))) + "\n", encoding="utf-8")
