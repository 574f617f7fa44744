"""`groundup curate set`: what is asked for, and what is said of it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import groundup as groundup_package
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup_factory.api import curate_set
from groundup_factory.sets import SetRequest
from tests.cli.conftest import Groundup


@pytest.mark.needs("git")
def test_each_entry_has_its_sentence(groundup: Groundup, tmp_path: Path) -> None:
    """A file of libraries may have remarks; the document says what became of each, and the code what failed."""
    listed = tmp_path / "libraries.txt"
    listed.write_text(f"# fruit\nfile://{tmp_path}/absent/apple  # one day\n\nfile://{tmp_path}/absent/pear\n")

    ended = groundup("curate", "set", "--list", listed, "-o", "my-set", "--json")

    assert ended.code == 3
    made = json.loads(ended.out)
    assert [(one["task"], one["standing"]) for one in made["entries"]] == [("apple", "failed"), ("pear", "failed")]
    assert all("can be read" in one["why"] for one in made["entries"])
    assert "0 of 2 entries are tasks" in ended.err


@pytest.mark.needs("git")
def test_sets_are_made_from_python(tmp_path: Path) -> None:
    """The command and the function do the same, as curate.md shows; `groundup` offers it."""
    assert groundup_package.curate_set is curate_set
    settings = Settings(cache_dir=tmp_path / "cache")
    request = SetRequest(entries=[f"file://{tmp_path}/absent/apple"], folder=tmp_path / "my-set")
    told: list[str] = []

    made = curate_set(request, settings=settings, tell=lambda task, line: told.append(task))

    assert [(one.task, one.standing) for one in made.entries] == [("apple", "failed")]
    assert set(told) == {"apple"}
    with pytest.raises(UsageError, match="name a library"):
        curate_set(replace(request, entries=[], folder=tmp_path / "other"), settings=settings)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "name a library"),
        (["--list", "absent.txt"], "absent.txt cannot be read"),
        (["six", "--kind", "song"], "no kind of set"),
        (["./absent"], "no such folder"),
        (["six", "--kind", "service", "-m", "openai/gpt-5"], "of libraries only"),
    ],
)
def test_a_wrong_request_is_explained(groundup: Groundup, arguments: list[str], expected: str) -> None:
    """What cannot be meant ends with 2 and what would be right, and makes no folder."""
    ended = groundup("curate", "set", *arguments, "-o", "my-set")

    assert ended.code == 2
    assert expected in ended.err
    assert not Path("my-set").exists()


@pytest.mark.needs("git")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tasks", "./my-lib"], "is no set: it has no set.json"),
        (["run", "./my-set", "-a", "oracle"], "`groundup curate yield ./my-set` says why"),
        (["tasks", "my-set"], "write ./my-set for the set in it"),
        (["data", "pull", "trio", "--from", "trio.tar.gz"], "trio.tar.gz is not here"),
    ],
)
def test_what_is_no_suite_is_explained(
    groundup: Groundup, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """A folder that is no set, a set without tasks or written without its dots, and a lost archive."""
    Path("my-lib").mkdir()
    groundup("curate", "set", f"file://{tmp_path}/absent/apple", "-o", "my-set")

    ended = groundup(*arguments)

    assert ended.code == 2
    assert said in " ".join(ended.err.split())


@pytest.mark.needs("git")
def test_the_yield_and_the_reason_can_be_asked_for(groundup: Groundup, tmp_path: Path) -> None:
    """A table by language with causes, the sentence of each that is no task, and the log of one."""
    groundup("curate", "set", f"file://{tmp_path}/absent/apple", "--kind", "dibench", "-o", "my-set")

    shown = groundup("curate", "yield", "my-set")
    document = json.loads(groundup("curate", "yield", "my-set", "--json").out)
    told = groundup("curate", "why", "my-set", "apple")

    assert re.search(r"fetched +machine or network", shown.out)
    assert "can be read" in " ".join(shown.out.split())
    assert document["rows"][0]["failed"] == 1
    assert "failed at fetched (machine or network)" in told.out
    assert "step fetched" in told.out
    assert groundup("curate", "why", "my-set", "pear").code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--since", "May"], "is no day"),
        (["--language", "cobol"], "unknown language"),
        (["inflection", "--kind", "dibench"], "is no repository"),
    ],
)
def test_a_wrong_rule_is_explained(groundup: Groundup, arguments: list[str], expected: str) -> None:
    """A rule that cannot be meant stops before anything is made."""
    ended = groundup("curate", "set", "github.com/o/n", *arguments, "-o", "my-set")

    assert ended.code == 2
    assert expected in ended.err
    assert not Path("my-set").exists()


@pytest.mark.needs("git")
def test_an_empty_set_is_not_packed(groundup: Groundup, tmp_path: Path) -> None:
    """There is nothing to give away; and the next version of a set is another folder."""
    groundup("curate", "set", f"file://{tmp_path}/absent/apple", "-o", "my-set")

    packed = groundup("curate", "pack", "my-set", "-o", "x.tar.gz")
    refreshed = groundup("curate", "refresh", "my-set", "-o", "my-set")

    assert (packed.code, refreshed.code) == (2, 2)
    assert "has no task yet" in packed.err
    assert "name a new folder" in refreshed.err
    assert not Path("x.tar.gz").exists()
