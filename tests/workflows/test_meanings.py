"""What scripts do, with a project's own names followed."""

import json
from pathlib import Path

import pytest

from groundup.workflows.meanings import Meanings
from groundup.workflows.runners import Meaning, Purpose, meaning_of
from tests.workflows.made import MadeTree

PACKAGE = """{"scripts": {
    "test": "run-s lint unit", "lint": "eslint .", "unit": "mocha", "e2e": "playwright test"
}}"""
MAKEFILE = """PYTHON = python3
ci: lint
\t$(PYTHON) -m pytest --ci
lint:
\tflake8
test-%:
\tcargo test -F $*
"""
TOX = """[tox]
envlist = py{311,312}, lint
[testenv]
commands =
    slow: true
    pytest {posargs}
[testenv:lint]
commands = flake8
"""
NOX = """import nox
@nox.session
@nox.session(name='tests-min')
def tests(session):
    session.run('coverage', 'run', '-m', 'pytest')
@nox.session
def lint(session):
    session.run('ruff')
"""
PROJECT = """[tool.poe.tasks]
verify = {sequence = ["check", {cmd = "pytest"}]}
check = "ruff check"
pytest = "pytest -n 2"
[tool.hatch.envs.test.scripts]
cov = "pytest --cov"
[[tool.hatch.envs.matrix.matrix]]
py = ["3.11", "3.12"]
kind = ["plain", "measured"]
[tool.hatch.envs.matrix.scripts]
plain = "unit"
unit = "python -m unittest"
[tool.hatch.envs.matrix.overrides]
matrix.kind.scripts = [
    { key = "_cov", value = "coverage run -m unittest", if = ["measured"] },
    { key = "measured", value = "_cov", if = ["measured"] },
]
platform.linux.scripts = ["native=pytest --native"]
"""
JUST = """run := "uv run"
cov *args="-x tests":
    {{run}} coverage run -m pytest {{args}}
"""
FILES = {
    "package.json": PACKAGE,
    "packages/a/package.json": '{"name": "a", "scripts": {"spec": "vitest run"}}',
    "Makefile": MAKEFILE,
    "justfile": JUST,
    "tox.ini": TOX,
    "noxfile.py": NOX,
    "pyproject.toml": PROJECT,
    "ci/run.sh": '#!/bin/sh\ncmd="${1:-build}"\ncargo "${cmd}" --all\n',
    "build.ps1": "function Test { Invoke-Dotnet test $solution -c Release }\n",
    "build.cs": 'Task("Test").Does(ctx => ctx.DotNetTest(solution));\n',
    "scripts/run_tests.js": "require('./harness').start()\n",
    "scripts/release.js": "require('./harness').publish()\n",
    "scripts/all_tests.py": "import subprocess\nsubprocess.run(['python', '-m', 'pytest'])\n",
}


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("pytest -q", "pytest -q"),
        ("npm test", "mocha"),
        ("npm --loglevel error test", "mocha"),
        ("pnpm -r run spec", "vitest run"),
        ("npm run spec --workspace a", "vitest run"),
        ("make ci", "pytest --ci"),
        ("make test-full", "cargo test -F full"),
        ("just cov", "pytest"),
        ("tox", "pytest"),
        ("tox -e py312-slow", "pytest"),
        ("nox -s tests-min", "pytest"),
        ("poe verify", "pytest"),
        ("poe pytest", "pytest -n 2"),
        ("hatch run test:cov", "pytest --cov"),
        ("hatch env run --env test cov", "pytest --cov"),
        ("hatch -e test run cov", "pytest --cov"),
        ("hatch run +py=3.12 matrix:plain", "python -m unittest"),
        ("hatch run +py=3.12 matrix:measured", "python -m unittest"),
        ("hatch run +kind=plain matrix:plain", "python -m unittest"),
        ("hatch run matrix:native", "pytest --native"),
        ("./ci/run.sh test", "cargo test --all"),
        ("./build.ps1", "Invoke-Dotnet test"),
        ("dotnet make", "DotNetTest"),
        ("dotnet test x.sln", "dotnet test x.sln"),
        ("cargo --config ci.toml test --workspace", "cargo --config ci.toml test --workspace"),
        ("cargo hack test --each-feature", "cargo hack test --each-feature"),
        ("node --test", "node --test"),
        ("python scripts/all_tests.py", "python scripts/all_tests.py"),
        ("make unknown-tests", "make unknown-tests"),
        ("node scripts/run_tests.js", "node scripts/run_tests.js"),
        ("./scripts/release.js test", "./scripts/release.js test"),
        ("./run-tests.sh", "./run-tests.sh"),
    ],
)
def test_the_tests_are_found_behind_names(script: str, command: str) -> None:
    """Whatever name leads to them, the program that tests is named, with what it is given."""
    found = Meanings(MadeTree(FILES)).of(script)

    tests = [meaning.command for meaning in found if meaning.purpose is Purpose.TEST]
    assert tests, found
    assert tests[0].startswith(command)


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("npm --loglevel error test", ("npm test", "npm unit")),
        ("npm run spec --workspace a", ("npm spec",)),
        ("pnpm -r run spec", ("pnpm spec",)),
        ("make ci -j 2", ("make ci -j 2",)),
        ("tox -e py312-slow", ("tox py312-slow",)),
        ("nox -s tests-min", ("nox tests-min",)),
        ("poe verify --fast", ("poe verify --fast",)),
        ("verify -q", ("verify",)),
        ("hatch -e test run cov", ("hatch -e test run cov",)),
        ("dotnet make", ("dotnet make", "build.cs")),
        ("./ci/run.sh test", ("ci/run.sh",)),
        ("pytest", ()),
    ],
)
def test_the_names_on_the_way_are_kept(script: str, names: tuple[str, ...]) -> None:
    """`curate` shows by which names a test was found, the outermost first, a task's without its arguments."""
    tests = [one for one in Meanings(MadeTree(FILES)).of(script) if one.purpose is Purpose.TEST]
    assert [one.via for one in tests] == [names]


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("npm run unit --workspaces", {"jest packages"}),
        ("npm run unit -ws", {"jest packages"}),
        ("pnpm -r run unit", {"jest root", "jest packages"}),
    ],
)
def test_npm_s_workspaces_leave_the_root_out(script: str, commands: set[str]) -> None:
    """To npm the root is none of its workspaces; to pnpm it is a package as any other."""
    files = {
        "package.json": '{"scripts": {"unit": "jest root"}}',
        "packages/a/package.json": '{"scripts": {"unit": "jest packages"}}',
    }
    found = Meanings(MadeTree(files)).of(script)
    assert {meaning.command for meaning in found if meaning.purpose is Purpose.TEST} == commands


@pytest.mark.parametrize(
    "script",
    [
        "pip install pytest",
        "cargo test --no-run",
        "cargo clippy --tests",
        "npm ci",
        "npm run lint",
        "tox -e lint",
        "nox -s lint",
        "make lint",
        "dotnet build tests/x.csproj",
        "coverage report",
        "echo running tests",
        "twine check dist/*",
    ],
)
def test_what_only_prepares_or_checks_is_no_test(script: str) -> None:
    """Installing, building, linting and listing are not taken for tests, whatever words they hold."""
    assert not [one for one in Meanings(MadeTree(FILES)).of(script) if one.purpose is Purpose.TEST]


def test_a_part_of_the_suite_is_reported() -> None:
    """Only integration tests, only a marker, only documentation: each has its reason."""
    meanings = Meanings(MadeTree(FILES))

    for script in ("pytest tests/integration", "pytest -m redis", "cargo test --doc", "npm run e2e"):
        (meaning,) = meanings.of(script)
        assert meaning.part, script
    (whole,) = meanings.of("pytest --ignore tests/benchmarks -m 'not slow'")
    assert whole.part is None


@pytest.mark.parametrize(
    ("called", "command"),
    [
        ("bash ci/run.sh unit", "pytest tests/unit"),
        ("bash ./ci/run.sh unit", "pytest tests/unit"),
        ("ci/run.sh unit", "pytest tests/unit"),
        ("bash ci/run.sh/ unit", "pytest tests/unit"),
        ("bash ci/../ci/run.sh/. unit", "pytest tests/unit"),
        ("bash -x ci/run.sh unit", "pytest tests/unit"),
    ],
)
def test_a_script_has_the_arguments_behind_its_name(called: str, command: str) -> None:
    """However its path is written."""
    tree = MadeTree({"ci/run.sh": "pytest tests/$1\n"})
    assert [meaning.command for meaning in Meanings(tree).of(called)] == [command]


def test_scripts_that_call_themselves_end() -> None:
    """A script or target that leads to itself is followed a few times, not for ever."""
    tree = MadeTree({"package.json": '{"scripts": {"test": "npm test"}}', "Makefile": "a: b\nb: a\n\tmake a\n"})

    assert Meanings(tree).of("npm test") is not None
    assert Meanings(tree).of("make a") is not None


def test_names_that_multiply_are_followed_so_far() -> None:
    """Scripts, targets, braces and tasks that stand for billions of others cost a moment, not the day."""
    scripts = {f"s{at}": " && ".join([f"npm run s{at + 1}"] * 60) for at in range(6)}
    targets = "".join(f"t{at}: {' '.join(f't{at + 1}x{n}' for n in range(9))}\n" for at in range(4))
    tasks = "".join(f"p{at} = [{', '.join([f'{chr(34)}p{at + 1}{chr(34)}'] * 40)}]\n" for at in range(6))
    tree = MadeTree(
        {
            "package.json": json.dumps({"scripts": {**scripts, "s6": "ava"}}),
            "Makefile": f"{targets}t%:\n\ttrue\n",
            "tox.ini": f"[tox]\nenvlist = {'{a,b}' * 40}\n[testenv]\ncommands = pytest\n",
            "pyproject.toml": f'[tool.poe.tasks]\n{tasks}p6 = "pytest"\n',
            "run.sh": "x" * 900_000 + " : " + " " * 90_000,
        }
    )
    meanings = Meanings(tree)

    for script in ("npm run s0", "make t0", "tox", "poe p0", "./run.sh"):
        assert len(meanings.of(script)) < 5000


def test_an_override_of_a_leg_that_is_left_out_says_nothing() -> None:
    """`+kind=plain` and `-kind=measured` leave no environment that has the override's script."""
    for chosen in ("+kind=plain", "-kind=measured"):
        found = Meanings(MadeTree(FILES)).of(f"hatch run {chosen} matrix:measured")
        assert not [one for one in found if "unittest" in one.command]


def test_a_build_script_of_dotnet_is_followed_to_its_tests() -> None:
    """`./build` runs `dotnet run --project build`, whose targets (Bullseye's) run `dotnet test`."""
    bullseye = 'Target("test", dependsOn: ["build"], () => RunAsync("dotnet", $"test --configuration Release"));\n'
    files = {
        "build": '#!/usr/bin/env bash\ndotnet run --project build-tools/Targets.csproj -- "$@"\n',
        "build-tools/Program.cs": bullseye,
        "app/Program.cs": 'Console.WriteLine("hello");\n',
    }
    meanings = Meanings(MadeTree(files))
    (found,) = meanings.of("./build")
    assert (found.purpose, found.via) == (
        Purpose.TEST,
        ("build", "dotnet run --project build-tools/Targets.csproj", "build-tools/Program.cs"),
    )
    assert {one.purpose for one in meanings.of("dotnet run --project app")} == {Purpose.BUILD}


@pytest.mark.parametrize("script", ["./ci.sh", "node scripts/release.js", "./scripts/release.js"])
def test_a_script_that_says_nothing_of_tests_is_none(script: str) -> None:
    """What only runs in CI, or does something of its own, is not taken for the tests."""
    assert [found for found in Meanings(MadeTree(FILES)).of(script) if found.purpose is Purpose.TEST] == []


@pytest.mark.parametrize(
    ("words", "purpose"),
    [
        (["bun", "test"], Purpose.TEST),
        (["bun", "install"], Purpose.BUILD),
        (["bun", "i"], Purpose.BUILD),
        (["bun", "x"], None),
        (["deno", "task", "x"], Purpose.OTHER),
    ],
)
def test_what_a_program_does_besides_testing_is_no_test(words: list[str], purpose: Purpose | None) -> None:
    """Installing with a program that also tests is building; what is not known stays open."""
    found = meaning_of(words)
    assert (found.purpose if found else None) is purpose


@pytest.mark.parametrize(
    ("script", "purpose"),
    [
        ("module.exports = { add: (a, b) => a + b }\n", Purpose.NOTHING),
        ("if (require('./add')(1, 2) !== 3) process.exit(1)\n", Purpose.TEST),
    ],
)
def test_a_script_that_only_exports_tests_nothing(script: str, purpose: Purpose) -> None:
    """Nothing can fail in it, whatever it is called."""
    (found,) = Meanings(MadeTree({"test.js": script})).of("node test.js")
    assert found.purpose is purpose


@pytest.mark.parametrize(
    ("makefile", "runs"),
    [
        ("test:\n\tpytest\n", False),
        ("test: build\n\tpytest\nbuild:\n\ttrue\n", True),
        (".PHONY: test\ntest:\n\tpytest\n", True),
        (".PHONY: $(ALL)\ntest:\n\tpytest\n", True),
    ],
)
def test_make_runs_nothing_for_a_target_that_is_there(makefile: str, runs: bool) -> None:
    """A folder of its name is up to date, unless the target needs something or is, or might be, phony."""
    found = Meanings(MadeTree({"Makefile": makefile, "test/test_a.py": ""})).of("make test")
    assert any(meaning.command == "pytest" for meaning in found) is runs


@pytest.mark.parametrize(
    ("options", "is_lost"),
    [
        ("", False),
        (", ignore_fail = true", True),
        (", ignore_fail = false", False),
        (', ignore_fail = "return_zero"', True),
        (', ignore_fail = "return_non_zero"', False),
        (", keep_going = true", True),
    ],
)
def test_a_task_that_goes_on_loses_how_its_tests_ended(options: str, is_lost: bool) -> None:
    """As poe's and pdm's files say it."""
    project = f'[tool.poe.tasks]\ncheck = {{sequence = ["pytest", "ruff check"]{options}}}\n'
    found = Meanings(MadeTree({"pyproject.toml": project})).of("poe check")
    assert [meaning.may_fail for meaning in found if meaning.purpose is Purpose.TEST] == [is_lost]


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("playwright test", Purpose.TEST),
        ("cypress run --browser chrome", Purpose.TEST),
        ("playwright install --with-deps", Purpose.OTHER),
    ],
)
def test_tests_in_a_browser_are_a_part(command: str, purpose: Purpose) -> None:
    """Whatever word the program has for running them; to install browsers is none."""
    found = meaning_of(command.split())
    assert found is not None
    assert (found.purpose, found.part) == (purpose, "tests in a browser")


CHAIN = "a" + ".a" * 900
TASKS = "".join(f't{at} = "t{at + 1}"\n' for at in range(2000))


@pytest.mark.parametrize(
    ("script", "path", "source"),
    [
        ("nox", "noxfile.py", "x = (1" + "\n+1" * 100_000 + ")\n"),
        ("nox", "noxfile.py", f"@nox.session\ndef tests(session):\n    {CHAIN}.run('pytest')\n"),
        ("invoke test", "tasks.py", f"def test(c):\n    {CHAIN}.run('pytest')\n"),
        ("python -O t.py", "t.py", f"{CHAIN}()\nassert x\n"),
        ("python test_a.py", "test_a.py", f"if {CHAIN}:\n    pass\ndef test_a(): pass\n"),
        ("node test.js", "test.js", f"exports.a = {CHAIN};\n"),
        ("t0", "pyproject.toml", f"[tool.poe.tasks]\n{TASKS}t2000 = 'pytest'\n"),
        ("tox", "tox.ini", f"[tox]\nenvlist = {'{a}' * 2000}\n"),
    ],
)
def test_a_strangers_file_that_is_too_deep_ends_nothing(script: str, path: str, source: str) -> None:
    """Nothing is raised; what is beside it is still known."""
    found = Meanings(MadeTree({path: source})).of(f"{script}\npytest")
    assert found[-1].command == "pytest"


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("(cd a && npm test)", "in a"),
        ("(cd a && npm test) && (cd b && npm test); npm test", "in a, in b, at the root"),
        ("cd a; (cd ../b; npm test); npm test", "in b, in a"),
        ("bash -c 'cd a && npm test' && npm test", "in a, at the root"),
        ("bash -c 'cd a'; (npm test); (npm test)", "at the root, at the root"),
        ("cd a; cd ../b\nnpm test", "in b"),
    ],
)
def test_a_subshell_takes_its_folder_with_it(script: str, commands: str) -> None:
    """What comes after it runs where it did before."""
    names = {"": "at the root", "a/": "in a", "b/": "in b"}
    tree = {f"{at}package.json": json.dumps({"scripts": {"test": f"jest '{name}'"}}) for at, name in names.items()}
    found = [one.command.removeprefix("jest ") for one in Meanings(MadeTree(tree)).of(script)]
    assert ", ".join(found) == commands


ASSERTS = "import lib\nassert lib.add(1, 2) == 3\n"


@pytest.mark.parametrize(
    ("script", "purpose"),
    [
        ("python test_a.py", Purpose.TEST),
        ("python -O test_a.py", Purpose.NOTHING),
        ("python -B -OO test_a.py", Purpose.NOTHING),
        ("python -bO test_a.py", Purpose.NOTHING),
        ("python -B -b -O test_a.py", Purpose.TEST),
        ("python -O test_b.py", Purpose.TEST),
        ("make -n check", Purpose.NOTHING),
        ("make check -- -n", Purpose.TEST),
        ("tox --notest", Purpose.NOTHING),
        ("nox --list", Purpose.NOTHING),
        ("just --dry-run check", Purpose.NOTHING),
    ],
)
def test_what_only_shows_or_leaves_asserts_out_tests_nothing(script: str, purpose: Purpose) -> None:
    """Whatever a script is called; one that raises by itself fails without asserts, too."""
    files = {
        "test_a.py": ASSERTS,
        "test_b.py": "import lib\nif lib.add(1, 2) != 3:\n    raise SystemExit(1)\n",
        "lib.py": "def add(a, b):\n    return a + b\n",
        "Makefile": "check:\n\tpytest\n",
    }
    found = Meanings(MadeTree(files)).of(script)
    assert [one.purpose for one in found] == [purpose]


@pytest.mark.parametrize("script", ["./test-{}.sh", "pytest {}"])
def test_a_long_command_is_told_by_its_beginning(script: str) -> None:
    """Of 160 characters, which tables have room for."""
    (found,) = Meanings(MadeTree({})).of(script.format("x" * 300))
    assert found.command == script.format("x" * 300)[:160]


_SCRIPTS = json.loads(Path(__file__).with_name("scripts.json").read_text(encoding="utf-8"))
REPOSITORY: dict[str, str] = _SCRIPTS["files"]
GOLDEN: dict[str, list[str]] = _SCRIPTS["meanings"]


def told(meaning: Meaning) -> str:
    """Return all of a meaning in a line."""
    certainty = f" {meaning.certainty}" if meaning.certainty != 1 else ""
    part = f" ({meaning.part})" if meaning.part else ""
    lost = " lost" if meaning.may_fail else ""
    return " < ".join((f"{meaning.purpose} {meaning.command}", *reversed(meaning.via))) + certainty + part + lost


@pytest.mark.parametrize("script", GOLDEN)
def test_everything_that_a_script_means(script: str) -> None:
    """Purpose, command, the names on the way, how certain it is, which part, and whether it is lost."""
    assert [told(meaning) for meaning in Meanings(MadeTree(REPOSITORY)).of(script)] == GOLDEN[script]


def test_variables_choose_what_tox_and_nox_run() -> None:
    """And what is known of one script with one choice is not taken for another's."""
    meanings = Meanings(MadeTree(REPOSITORY))
    for variables, meant in (
        ({"TOXENV": "docs"}, ["docs sphinx-build . out < tox docs"]),
        ({"TOXENV": "py311"}, ["test pytest < tox py311 lost"]),
        ({"NOXSESSION": "other"}, GOLDEN["tox"]),
    ):
        assert [told(one) for one in meanings.of("tox", "", variables)] == meant
    assert meanings.of("nox", "", {"NOXSESSION": "other"}) == ()
    assert [told(one) for one in meanings.of("nox", "", {"TOXENV": "other"})] == GOLDEN["nox"]
    assert [told(one) for one in meanings.of("npm test", "packages/b")] == ["test ava < npm test"]
