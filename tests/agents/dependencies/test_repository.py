"""What a model's reply gives for build files, and everything in it that cannot be used."""

import json
from pathlib import Path

import pytest

from groundup.agents.dependencies.repository import proposals, read_repository, whole_files
from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task

WANTED = ("setup.py", "a/package.json")


def block(content: str, path: str = "", language: str = "", *, closed: bool = True) -> str:
    """Return a block with a file's content as models write it."""
    name = f"{path}\n" if path else ""
    return f"{name}```{language}\n{content}" + ("```\n" if closed else "")


@pytest.mark.parametrize(
    ("text", "wanted", "files", "problems"),
    [
        ("I don't know.", WANTED, {}, ["the reply gives no file"]),
        (block("x\n", "setup.py"), WANTED, {"setup.py": b"x\n"}, []),
        (block("x\n", "./setup.py") + block("{}\n", "a/package.json"), WANTED,
         {"setup.py": b"x\n", "a/package.json": b"{}\n"}, []),
        (block("x\n"), ("setup.py",), {"setup.py": b"x\n"}, []),
        (block("x\n"), WANTED, {}, ["1 blocks do not say which file they are"]),
        (block("x\n") + block("y\n"), ("setup.py",), {}, ["2 blocks do not say which file they are"]),
        (block("pip install x\n", language="bash"), ("setup.py",), {}, ["the reply gives no file"]),
        (block("ls\n", language="console") + block("x\n"), ("setup.py",), {"setup.py": b"x\n"}, []),
        (block("y\n") + block("x\n", "setup.py"), WANTED, {"setup.py": b"x\n"}, []),
        (block("x\n", "other.py"), WANTED, {}, ["'other.py' is none of the build files"]),
        (block("x\n", "setup.py", closed=False), WANTED, {}, ["setup.py has no end"]),
        (block("x\n", "setup.py") + block("x\n", "setup.py"), WANTED, {"setup.py": b"x\n"}, []),
        (block("x\n", "setup.py") + block("y\n", "setup.py"), WANTED, {},
         ["setup.py is given 2 times, each time differently"]),
        (block("--- a/setup.py\n+++ b/setup.py\n@@ -1 +1 @@\n-x\n+y\n", "setup.py"), WANTED, {},
         ["setup.py is given as a diff, not as a whole file"]),
    ],
)  # fmt: skip
def test_whole_files_are_taken_where_one_is_meant(
    text: str, wanted: tuple[str, ...], files: dict[str, bytes], problems: list[str]
) -> None:
    """By exactly its path, once; what is ambiguous changes nothing, and is told."""
    found = whole_files(text, wanted)
    assert (found.files, [*found.problems]) == (files, problems)


@pytest.mark.parametrize(
    ("text", "lines", "problems"),
    [
        ("nothing", {}, ["the reply holds no JSON object"]),
        ("[1]", {}, ["the reply holds no JSON object"]),
        ("{" * 9999, {}, ["the reply holds no JSON object"]),
        ('{"setup.py": ["a", "b>=1"]}', {"setup.py": ("a", "b>=1")}, []),
        ('Here: {"setup.py": ["a"]} as asked.', {"setup.py": ("a",)}, []),
        (block('{"setup.py": ["a"]}\n', language="json") + "and {}", {"setup.py": ("a",)}, []),
        (block('{"setup.py": ["a"]}\n') + block('{"setup.py": ["b"]}\n'), {"setup.py": ("b",)}, []),
        (block('{"setup.py": ["a"]}\n') + block("[1]\n"), {"setup.py": ("a",)}, []),
        ('{"setup.py": ["a", 3, null, " ", ""], "a/package.json": []}',
         {"setup.py": ("a",), "a/package.json": ()}, []),
        ('{"setup.py": "a", "b": [], "a/package.json": {"c": 1}}', {},
         ["the entry for setup.py is no list", "'b' is none of the build files",
          "the entry for a/package.json is no list"]),
        (json.dumps({"x" * 300: []}), {}, [f"'{'x' * 200}' is none of the build files"]),
    ],
)  # fmt: skip
def test_proposals_are_lists_of_texts_by_build_file(
    text: str, lines: dict[str, tuple[str, ...]], problems: list[str]
) -> None:
    """Of the last object in a block, else of the one that the text is."""
    found = proposals(text, WANTED)
    assert (found.lines, [*found.problems]) == (lines, problems)


def test_a_repository_is_read_by_its_task(tmp_path: Path) -> None:
    """Sources of its language without build files; imports by source, those without any left out."""
    for path, text in {
        "setup.py": "from setuptools import setup\n",
        "pkg/a.py": "import os, attr\nfrom x.y import z\nimport os, attr\n",
        "pkg/b.py": "1\n",
        "pkg/c.js": "import 'd'\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    told = {"language": "python", "build_files": '["setup.py", "gone.toml"]'}
    task = Task(id="t", suite="dibench", instruction=None, data_version="1", metadata=told)
    found = read_repository(task, tmp_path)
    assert (found.language, found.build_files) == ("python", ("setup.py", "gone.toml"))
    assert [source.path for source in found.sources] == ["pkg/a.py", "pkg/b.py"]
    assert found.imports() == {"pkg/a.py": ["import os, attr", "from x.y import z"]}
    assert found.shown_imports() == "```path=pkg/a.py\nimport os, attr\nfrom x.y import z\n```\n"
    assert found.build_file("gone.toml") is None
    shown = "```path=setup.py\nfrom setuptools import setup\n```\n\n```path=gone.toml\n```\n"
    assert found.shown_build_files() == shown
    for wrong in ({}, {"language": "cobol", "build_files": "[]"}, {"language": "python", "build_files": 3}):
        with pytest.raises(TaskError) as refused:
            read_repository(task.but(metadata=wrong), tmp_path)
        assert str(refused.value) == (
            "t does not say in which language and build files dependencies are missing; use another agent"
        )
