"""A project's names for commands: what each file says, read line by line."""

import pytest

from groundup.workflows.project_commands import (
    cargo_words,
    hatch_lines,
    just_lines,
    make_lines,
    script_lines,
    task_lines,
)
from tests.workflows.made import MadeTree

MAKEFILE = """# a comment
SHELL := /bin/bash
export NAME ?= shop
ALL = $(NAME) ${NAME}2 $(ABSENT)
URL := http://a/b
.PHONY: all clean
all: one two
one: three ; echo $(ALL)
\t@echo one
two:: three # why
\t-rm $@
two::
\techo again
three:
\techo a \\
\t\tb
%.txt: src-%
\tmake-it $* $@
src-x:
\t+echo src
clean deep-clean:
\trm -rf $(NAME)
loop: loop
\techo loop
"""
SUB = {"sub/GNUmakefile": "all:\n\techo sub\n", "sub/Makefile": "all:\n\techo wrong\n"}
ONE = ["echo a  b", "echo shop shop2 $(ABSENT)", "echo one"]
TWO = ["echo a  b", "rm two || true", "echo again"]
ALL = [*ONE, *TWO[1:]]
MADE: dict[str, list[str] | None] = {
    "": ALL,
    "all": ALL,
    "one two": [*ONE, *TWO],
    "x.txt": ["echo src", "make-it x x.txt"],
    "y.txt": ["make-it y y.txt"],
    "clean": ["rm -rf shop"],
    "deep-clean": ["rm -rf shop"],
    "loop": ["echo loop"],
    "absent": None,
    "absent all": ALL,
    "-C sub all": ["echo sub"],
    "--directory sub": ["echo sub"],
    "-C": ALL,
    "-j all": ALL,
    "-j 4 all": ALL,
    "-l 2 two": TWO,
    "-f Makefile two": TWO,
    "NAME=x two": TWO,
    "-k two": TWO,
    "--ignore-errors one": [f"{line} || true" for line in ONE],
    "-ki one": [f"{line} || true" for line in ONE],
}


@pytest.mark.parametrize("words", MADE)
def test_what_make_runs(words: str) -> None:
    """What a target needs comes first; a line that begins with a dash may fail; flags are no targets."""
    assert make_lines(MadeTree({"Makefile": MAKEFILE} | SUB), "", words.split()) == MADE[words]


def test_make_s_special_cases() -> None:
    """`.IGNORE` for all or some; targets that are there and need nothing; no Makefile; at most 200 targets."""
    rules = "a: b\n\tpytest\nb:\n\tmypy\n"
    assert make_lines(MadeTree({"makefile": f".IGNORE:\n{rules}"}), "", ["a"]) == [
        "mypy || true",
        "pytest || true",
    ]
    assert make_lines(MadeTree({"makefile": f".IGNORE: a\n{rules}"}), "", ["a"]) == ["mypy", "pytest || true"]
    there = "a:\n\techo a\nb:\n\techo b\nc/d:\n\techo c\n"
    tree = MadeTree({"Makefile": there, "a": "", "bb/x": "", "c/d/e": ""})
    assert make_lines(tree, "", ["a", "b", "c/d"]) == ["echo b"]
    assert make_lines(tree, "sub", ["a"]) is None
    many = "".join(f"b{at}:\n\techo {at}\n" for at in range(300))
    tree = MadeTree({"Makefile": f"a: {' '.join(f'b{at}' for at in range(300))}\n{many}"})
    assert make_lines(tree, "", ["a"]) == [f"echo {at}" for at in range(200)]


JUSTFILE = """set shell := ["bash"]
name := "shop"
other := 'x'
@_private:
    echo private
one a b="2" *rest: two (three "x") && four
    @echo {{name}} {{ other }} {{absent}}
    -false
# comment
two:
\techo two
three x:
    echo three
four:

five +files: # why
    pytest {{files}}
six:=7
"""
JUST: dict[str, list[str] | None] = {
    "": ["echo private"],
    "one": ["echo two", "echo three", "echo shop x", "false || true"],
    "two": ["echo two"],
    "four": [],
    "five a b": ["pytest"],
    "six": None,
    "absent": None,
    "-i two": ["echo two"],
    "--justfile two": ["echo two"],
}


@pytest.mark.parametrize("words", JUST)
def test_what_just_runs(words: str) -> None:
    """Recipes with parameters, defaults and comments; those named before and after `&&` run, too."""
    lines = just_lines(MadeTree({"justfile": JUSTFILE}), "", words.split())
    assert (None if lines is None else [line.rstrip() for line in lines]) == JUST[words]


@pytest.mark.parametrize(
    ("name", "found"),
    [("justfile", True), ("Justfile", True), (".justfile", True), ("JUSTFILE", True), ("JustFile", False)],
)
def test_names_of_justfiles(name: str, *, found: bool) -> None:
    """Those that people use."""
    assert (just_lines(MadeTree({name: "a:\n b\n"}), "", ["a"]) == ["b"]) is found


TASKS = """
[tool.poe.tasks]
text = "pytest"
cmd = {cmd = "pytest -c"}
shell = {shell = "pytest; true"}
script = {script = "a:b"}
seq = ["text", "cmd", {cmd = "mypy"}]
seq2 = {sequence = ["seq", "text", "black ."], ignore_fail = true}
ref = {ref = "text"}
self = "self --now"
empty = ""
odd = 7
none = {help = "x"}
[tool.pdm.scripts]
text = "pdm wins never"
pdm = {composite = ["lint", "unit"], keep_going = true}
lint = {call = "a:b"}
unit = {cmd = ["pytest", "-q"]}
[tool.pixi.tasks]
pixi = {cmd = "pytest", depends-on = ["x"]}
deps = {depends-on = ["pixi"]}
[tool.taskipy.tasks]
taskipy = "pytest t"
[tool.rye.scripts]
rye = "pytest r"
"""
RUN: dict[str, list[str] | None] = {
    "text": ["pytest"],
    "cmd": ["pytest -c"],
    "shell": ["pytest; true"],
    "script": ["a:b"],
    "seq": ["pytest", "pytest -c", "mypy"],
    "seq2": ["pytest", "pytest -c", "mypy", "black . || true"],
    "ref": ["pytest"],
    "self": ["self --now"],
    "empty": [""],
    "odd": [],
    "none": [],
    "pdm": ["a:b", "pytest -q"],
    "lint": ["a:b"],
    "unit": ["pytest -q"],
    "pixi": ["pytest"],
    "deps": ["pytest"],
    "taskipy": ["pytest t"],
    "rye": ["pytest r"],
    "absent": None,
}


@pytest.mark.parametrize("name", RUN)
def test_what_a_task_runs(name: str) -> None:
    """Of five tools, the first that has it; tasks that it names are followed, each once."""
    assert task_lines(MadeTree({"pyproject.toml": TASKS}), "", name) == RUN[name]
    assert task_lines(MadeTree({"pyproject.toml": TASKS}), "sub", name) is None


def test_a_task_runs_200_lines_at_most() -> None:
    """Nobody writes more."""
    lines = [f"x{at}" for at in range(300)]
    tree = MadeTree({"pyproject.toml": f"[tool.poe.tasks]\na = {lines}\n"})
    assert task_lines(tree, "", "a") == lines[:200]


HATCH = """
[tool.hatch.envs.default.scripts]
a = "echo default"
b = ["a", "echo b"]
[tool.hatch.envs.e.scripts]
a = "echo e"
[tool.hatch.envs.e.overrides]
name.x.scripts = ["c=echo c", "odd"]
env.CI.set-scripts = [{key = "d", value = "echo d"}]
matrix.v.scripts = [
    {key = "a", value = "echo 1", if = ["1"]},
    {key = "a", value = "echo 2", if = ["2"]},
    {key = "a", value = "echo any"},
]
platform.linux.scripts = "n=echo n"
platform.windows = 3
"""
SCRIPTS: list[tuple[str, list[str], list[str] | None]] = [
    ("a", [], ["echo default"]),
    ("b", [], ["echo default", "echo b"]),
    ("e:a", [], ["echo e", "echo 1", "echo 2", "echo any"]),
    ("e:b", [], ["echo e", "echo 1", "echo 2", "echo any", "echo b"]),
    ("+e.py3:a", ["+v=1"], ["echo e", "echo 1", "echo any"]),
    ("e:a", ["-v=1"], ["echo e", "echo 2", "echo any"]),
    ("e:a", ["-v=1,2"], ["echo e", "echo any"]),
    ("e:a", ["+w=1"], ["echo e", "echo 1", "echo 2", "echo any"]),
    ("e:a", ["+v"], ["echo e", "echo 1", "echo 2", "echo any"]),
    ("e:c", [], ["echo c"]),
    ("e:d", [], ["echo d"]),
    ("e:n", [], ["echo n"]),
    ("e:odd", [], None),
    ("x:a", [], ["echo default"]),
    ("absent", [], None),
]


@pytest.mark.parametrize(("called", "chosen", "lines"), SCRIPTS)
def test_what_hatch_runs(called: str, chosen: list[str], lines: list[str] | None) -> None:
    """An environment's scripts before the default's, with what matrix, variables and platforms give."""
    assert hatch_lines(MadeTree({"pyproject.toml": HATCH}), "", called, chosen) == lines


def test_hatch_has_a_file_of_its_own() -> None:
    """Which counts before pyproject.toml."""
    own = {"hatch.toml": "[envs.default.scripts]\na = 'echo hatch'\n"}
    assert hatch_lines(MadeTree({"pyproject.toml": HATCH} | own), "", "a") == ["echo hatch"]
    assert hatch_lines(MadeTree({"pyproject.toml": HATCH}), "sub", "a") is None


PACKAGES = {
    "package.json": """{
        "name": "root",
        "scripts": {
            "test": "run-s lint 'u:*' npm:own", "lint": "eslint", "u:a": "ava", "u:b": "mocha", "own": "wireit",
            "bad": 3, "pretest": "pre", "posttest": "post", "cycle": "run-s cycle",
            "conc": "concurrently \\"npm run lint\\" \\"npm:u:**\\""
        },
        "wireit": {"own": {"command": "jest"}}
    }""",
    "packages/a/package.json": '{"name": "@x/a", "scripts": {"test": "vitest", "only": "a"}}',
    "packages/b/package.json": '{"name": "b", "scripts": {"test": "ava"}}',
    "node_modules/c/package.json": '{"scripts": {"test": "no"}}',
    "packages/odd/package.json": '{"scripts": []}',
    "packages/d/e/package.json": '{"name": "e", "scripts": {"test": "deep"}}',
}
ROOT = ["pre", "npm run lint && npm run u:a && npm run u:b && npm run own", "post"]
IN_A, IN_B, IN_E = ("packages/a", "vitest"), ("packages/b", "ava"), ("packages/d/e", "deep")
AT_ROOT = ("test", [("", line) for line in ROOT])
EVERYWHERE = ("test", [*((".", line) for line in ROOT), IN_A, IN_B, IN_E])
CALLED: dict[str, tuple[str, list[tuple[str, str]]] | None] = {
    **dict.fromkeys(("test", "t", "tst", "it", "cit", "install-test", "run t", "rum test", "urn test"), AT_ROOT),
    **dict.fromkeys(("--silent test", "--loglevel error test", "--scope b test", "--stream x test"), AT_ROOT),
    **dict.fromkeys(("test --reporter=dot", "test -w", "test -- -w b", "test lint", "run test run"), AT_ROOT),
    "run-script lint": ("lint", [("", "eslint")]),
    "own": ("own", [("", "jest")]),
    "cycle": ("cycle", [("", "run-s cycle")]),
    "conc": ("conc", [("", "npm run lint && npm run u:a && npm run u:b")]),
    **dict.fromkeys(("", "run", "run run", "bad", "absent", "install", "-- test", "-w c test"), None),
    **dict.fromkeys(
        ("-C packages/a test", "--dir packages/a test", "--cwd=packages/a test", "--prefix packages/a t"),
        ("test", [IN_A]),
    ),
    **dict.fromkeys(
        ("-w @x/a test", "--workspace=@x/a test", "-F ./packages/a test", "--filter=@x/* test"), ("test", [IN_A])
    ),
    **dict.fromkeys(("workspace b test", "test -w b", "--filter {packages/b}... test"), ("test", [IN_B])),
    **dict.fromkeys(("-r only", "recursive run only", "workspaces run only"), ("only", [("packages/a", "a")])),
    **dict.fromkeys(("-r test", "--recursive test", "workspaces foreach run test"), EVERYWHERE),
    **dict.fromkeys(("-ws test", "test --workspaces"), ("test", [IN_A, IN_B, IN_E])),
}


@pytest.mark.parametrize("words", CALLED)
def test_what_a_package_manager_runs(words: str) -> None:
    """With hooks before and after, patterns of names in their places, in the packages that are asked for."""
    found = script_lines(MadeTree(PACKAGES), "", words.split())
    assert found == CALLED[words]


ALIASES = {
    ".cargo/config.toml": '[alias]\nx = "run -p x"\nl = ["test", "--all"]\no = 3\nm = ["a", 1]\n',
    "sub/.cargo/config": '[alias]\nx = "sub x"\ny = "own y"\n',
}
CARGO: list[tuple[str, str, str]] = [
    ("", "cargo x -v", "cargo run -p x -v"),
    ("", "cargo +nightly -q l --doc", "cargo +nightly -q test --all --doc"),
    ("", "cargo o", "cargo o"),
    ("", "cargo m", "cargo m"),
    ("", "cargo test x", "cargo test x"),
    ("", "cargo", "cargo"),
    ("", "cargo -V", "cargo -V"),
    ("", "cargo y", "cargo y"),
    ("sub", "cargo y", "cargo own y"),
    ("sub", "cargo l", "cargo test --all"),
]


@pytest.mark.parametrize(("folder", "words", "meant"), CARGO)
def test_what_an_alias_of_cargo_calls(folder: str, words: str, meant: str) -> None:
    """The root's aliases hold in its folders; an alias that is no list of words is none."""
    assert cargo_words(MadeTree(ALIASES), folder, words.split()) == meant.split()
