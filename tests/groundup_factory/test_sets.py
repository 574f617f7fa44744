"""Sets of libraries: what a list may name, what is kept, and a whole way from a folder to a verdict."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.api.runs import run
from groundup.cli.data import pulled
from groundup.domain.errors import MissingExtraError, UsageError
from groundup.settings import Settings, load
from groundup.suites.sets import ENTRIES, checked_set
from groundup_factory.library_sets import LibrarySets
from groundup_factory.recipes.unpublished import MakingRules
from groundup_factory.recipes.written import SECTIONS
from groundup_factory.service_sets import copy_folder_made
from groundup_factory.set_entries import EntryWalk, MadeTask, SetEntry, SetPlace, parse_wish
from groundup_factory.sets import SetRequest, at_cost, make_set, out_of_time
from groundup_factory.spending import EntryCost, SetModel
from tests.grading.library.laboratory import write_tree
from tests.needs import real_sandboxes

TESTS = """
import pytest
import tally
from tally import Tally, _plural, LIMIT

@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_counts(number):
    assert Tally().add(number).total == number

def test_limit():
    with pytest.raises(ValueError):
        Tally().add(LIMIT + 1)

def test_plural():
    assert _plural(2, "apple") == "2 apples"
    assert tally.plural_of(1, "pear") == "1 pear"

def test_broken():
    assert Tally().total == 1
"""
LIBRARY = {
    "pyproject.toml": '[project]\nname = "tally"\nversion = "0.3"\nrequires-python = ">=3.9"\n',
    "README.md": "# tally\n\nCounts.\n\n    tally = Tally().add(1)\n",
    "tally/__init__.py": (
        '"""Counting."""\nfrom ._words import _plural, plural_of\nLIMIT = 100\n'
        'class Tally:\n    """Counts."""\n    total = 0\n    def add(self, number):\n        """Add *number*."""\n'
        "        if number > LIMIT:\n            raise ValueError(number)\n"
        "        self.total += number\n        return self\n"
    ),
    "tally/_words.py": (
        "def _plural(count, word):\n    ending = 's' * (count > 1)\n    return f'{count} {word}{ending}'\n"
        'def plural_of(count: int, word: str) -> str:\n    """Count words."""\n    return _plural(count, word)\n'
    ),
    "tests/test_tally.py": TESTS,
}


@pytest.fixture
def sandboxes(tmp_path: Path) -> None:
    """Skip where this machine can open no sandbox."""

    async def probe() -> None:
        async with real_sandboxes(load(), tmp_path / "probe"):
            pass

    asyncio.run(probe())


def test_a_list_names_packages_folders_and_repositories(tmp_path: Path) -> None:
    """A bare name is a package, what begins like a path is a folder, and the rest has a slash."""
    (tmp_path / "my-lib").mkdir()
    package, folder = parse_wish("Inflection==0.5.1"), parse_wish(str(tmp_path / "my-lib"))
    commit, address = parse_wish("github.com/Suor/funcy@abc1234"), parse_wish("git@example.org:me/my.git")

    assert (package.kind, package.name, package.what) == ("package", "inflection", "Inflection==0.5.1")
    assert (folder.kind, folder.name) == ("folder", "my-lib")
    assert (commit.kind, commit.name, commit.commit) == ("git", "funcy", "abc1234")
    assert (address.kind, address.name, address.commit) == ("git", "my", None)
    for wrong, says in (
        ("./absent", "no such folder"),
        ("two words", "is no library"),
        ("-x", "is no library"),
        ("x==1 2", "is no library"),
        ("{", "write an object with `repository`"),
        ('{"commit": "abc1234"}', "write an object with `repository`"),
        ('{"repository": "o/n", "stars": "many"}', "stars"),
    ):
        with pytest.raises(UsageError, match=says):
            parse_wish(wrong)


async def test_a_folder_that_is_no_set_is_left_alone(tmp_path: Path) -> None:
    """Somebody's files are not mixed with ours."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no set"):
        await make_set(SetRequest(["inflection"], tmp_path), load(), lambda *_: None)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt"}


async def test_what_is_settled_is_not_made_again(tmp_path: Path) -> None:
    """A rejected entry keeps its sentence until it is asked for again, and the index is not asked."""
    folder = tmp_path / "set"
    await make_set(SetRequest([], folder), load(), lambda *_: None)
    line = SetEntry(entry="absent-library", task="absent-library", standing="rejected", why="it is so", seconds=1)
    (folder / ENTRIES).write_text(line.model_dump_json() + "\n" + '{"entry": "torn')

    made = await make_set(SetRequest(["absent-library"], folder), load(), lambda *_: None)

    assert [one.why for one in made.entries] == ["it is so"]
    assert made.kept == 1


async def test_what_this_machine_lacks_ends_a_set_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No entry is blamed for a missing extra or program, and the same command goes on once it is there."""
    wanted = SetRequest([f"file://{tmp_path}/absent/lib"], tmp_path / "set")

    with monkeypatch.context() as here:
        here.setitem(sys.modules, "libcst", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'groundup\[dibench\]'"):
            await make_set(wanted, load(), lambda *_: None)
    with monkeypatch.context() as here:
        here.setenv("PATH", str(tmp_path))
        with pytest.raises(UsageError, match="Git, which is not on PATH"):
            await make_set(wanted, load(), lambda *_: None)

    assert not (tmp_path / "set").exists()


async def test_what_turns_out_to_be_missing_within_is_tried_again(tmp_path: Path) -> None:
    """An extra that is found missing while an entry is made rejects nothing."""

    class Lacking(LibrarySets):
        @override
        async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
            raise MissingExtraError("install it with pip install 'groundup[other]'")

    wanted = SetRequest(["inflection"], tmp_path / "set")

    made = await make_set(wanted, load(), lambda *_: None, Lacking(wanted.rules))

    assert [(one.standing, one.is_unsettled) for one in made.entries] == [("failed", True)]
    assert "groundup[other]" in made.entries[0].why


@pytest.mark.needs("git")
async def test_what_cannot_be_reached_is_tried_again(tmp_path: Path) -> None:
    """A repository that does not answer is no verdict on it."""
    wanted = SetRequest([f"file://{tmp_path}/absent/lib"], tmp_path / "set")

    first = await make_set(wanted, load(), lambda *_: None)
    again = await make_set(wanted, load(), lambda *_: None)

    assert [one.standing for one in first.entries] == ["failed"]
    assert "can be read" in first.entries[0].why
    assert again.kept == 0


@pytest.mark.end_to_end
@pytest.mark.registry
@pytest.mark.needs("git", "package index")
@pytest.mark.usefixtures("sandboxes")
def test_a_folder_becomes_a_task_that_grades(tmp_path: Path) -> None:
    """A folder alone becomes a set, in which its original passes everything and an empty submission nothing."""
    settings = load({"data_dir": str(tmp_path / "data"), "output": str(tmp_path / "runs")})
    write_tree(tmp_path / "tally", LIBRARY)
    wanted = SetRequest([str(tmp_path / "tally")], tmp_path / "my-set")

    made = asyncio.run(make_set(wanted, settings, lambda *_: None))
    again = asyncio.run(make_set(wanted, settings, lambda *_: None))

    assert [(one.standing, one.why) for one in made.entries] == [("accepted", "")]
    assert (made.entries[0].tests, made.entries[0].left_out) == (6, 1)
    assert (again.kept, again.label) == (1, made.label)
    (specification,) = (tmp_path / "my-set" / "specifications").glob("tally@*.md")
    text = specification.read_text()
    for stated in ("extracted", "class Tally", "def add(self, number)", "def _plural(count, word)", "LIMIT = 100"):
        assert stated in text
    for answer in ("ending", "apples"):
        assert answer not in text
    assert _grades(tmp_path / "my-set", settings) == [1.0, 0.0]
    specification.write_text("changed")
    with pytest.raises(UsageError, match=r"tally@\w+\.md is not as set\.json says"):
        checked_set(tmp_path / "my-set", "library")
    told = asyncio.run(make_set(SetRequest([], tmp_path / "my-set"), settings, lambda *_: None))
    assert told.entries == made.entries
    assert told.label != made.label
    assert checked_set(tmp_path / "my-set", "library").label == told.label


@pytest.mark.end_to_end
@pytest.mark.registry
@pytest.mark.needs("git", "package index")
@pytest.mark.usefixtures("sandboxes")
def test_a_model_writes_what_the_checks_hold(tmp_path: Path) -> None:
    """Its examples run with the original in a sandbox; a set that is there gets its words later, no more."""
    settings = load({"data_dir": str(tmp_path / "data")})
    write_tree(tmp_path / "tally", LIBRARY)
    whole = "".join(f"## {one}\n\nIt counts.\n\n" for one in SECTIONS)
    whole += "`tally`: `Tally` and its `total`, `_plural`, `plural_of`, `LIMIT`\n\n"
    whole += "```python\nimport tally\nassert tally.LIMIT == {}\n```\n"
    script = tmp_path / "script.json"
    wanted = SetRequest([str(tmp_path / "tally")], tmp_path / "my-set")
    asked = replace(wanted, rules=MakingRules(rounds=2), model=SetModel(f"scripted/{script}"))
    turn = {"content": whole.format(99)}

    extracted = asyncio.run(make_set(wanted, settings, lambda *_: None))
    script.write_text(json.dumps({"turn": [turn], "then": "repeat"}))
    refused = asyncio.run(make_set(asked, settings, lambda *_: None))
    mended = {"when": "example 1 does not run .*AssertionError", "content": whole.format(100)}
    mended_script = tmp_path / "mended.json"
    mended_script.write_text(json.dumps({"turn": [turn], "rule": [mended]}))
    again = replace(asked, entries=[], model=SetModel(f"scripted/{mended_script}"))
    written = asyncio.run(make_set(again, settings, lambda *_: None))
    kept = asyncio.run(make_set(again, settings, lambda *_: None))

    for made in (extracted, refused, written):
        assert [(one.standing, one.why, one.tests) for one in made.entries] == [("accepted", "", 6)]
    assert [made.kept for made in (extracted, refused, written, kept)] == [0, 0, 0, 1]
    assert [made.entries[0].gaps for made in (extracted, written)] == [(), ()]
    assert "example 1 does not run" in refused.entries[0].remark
    (task,) = checked_set(tmp_path / "my-set", "library").tasks
    assert task.specification == "written"
    assert "assert tally.LIMIT == 100" in (tmp_path / "my-set" / f"specifications/{task.id}.md").read_text()
    evidence = tmp_path / "my-set" / "evidence" / written.entries[0].evidence
    assert "assert tally.LIMIT == 99" in (evidence / "refused-specification.md").read_text()
    assert (evidence / "log.txt").read_text().count("freezing") == 1


async def test_a_model_without_its_key_is_refused_before_anything_begins(tmp_path: Path) -> None:
    """A night is not spent on recipes whose specifications nobody can write."""
    model = SetModel(f"scripted/{tmp_path}/absent.json")
    with pytest.raises(UsageError, match=r"absent\.json"):
        await make_set(SetRequest(["inflection"], tmp_path / "set", model=model), load(), lambda *_: None)
    assert not (tmp_path / "set" / ENTRIES).exists()


def test_minutes_of_a_busy_machine_reject_nothing() -> None:
    """What other programs took is no fault of an entry: it is pending, and tried again by the same command."""
    assert out_of_time(7, 1.5) == ("rejected", "it took more than 7 minutes; see --minutes")
    assert out_of_time(7, 12.4)[0] == "failed"
    assert "12 programs wanted each processor" in out_of_time(7, 12.4)[1]


def test_what_a_specification_took_later_is_added() -> None:
    """A task costs what its recipe took and what its words took; another task of an entry costs its own."""
    before = SetEntry(entry="a", task="a@1", standing="accepted", seconds=60, processor_s=20, layers_mb=9)
    words = before.but(seconds=5, processor_s=0, layers_mb=0)
    again = at_cost(words, EntryCost(2, 1), before)

    assert (again.seconds, again.processor_s, again.layers_mb) == (65, 22, 10)
    assert at_cost(words.but(task="a@2"), EntryCost(2, 1), before).processor_s == 2
    assert at_cost(words, EntryCost(2, 1), before.but(standing="failed")).processor_s == 2


def test_what_a_model_left_out_is_said(tmp_path: Path) -> None:
    """An accepted entry whose written specification was refused says why the extracted one is used."""
    walk = EntryWalk(parse_wish("inflection"), tmp_path, lambda *_: None)
    walk.gaps = ("there is no section `## API`", "example 1 does not run")

    one = walk.ended("accepted", task="inflection@1", tests=9)

    assert one.why == ""
    assert one.remark.endswith("the written one has 2 gaps, first: there is no section `## API`")
    assert walk.ended("rejected", "it is so").remark == "it is so"


def _grades(folder: Path, settings: Settings) -> list[float]:
    """Return what the original gets in the set installed under a name, and nothing in the set's own folder."""
    pulled("nl2repobench@tallies", source=folder, settings=settings)
    scores = []
    for suite, subject in (("nl2repobench@tallies", "oracle"), (str(folder), "nop")):
        (verdict,) = run(suite, subject, settings=settings).verdicts.values()
        assert verdict is not None
        assert verdict.score is not None
        assert verdict.score.value is not None
        scores.append(verdict.score.value)
    return scores


@pytest.mark.needs("git")
async def test_when_the_time_is_up_the_rest_is_owed(tmp_path: Path) -> None:
    """Nothing is decided about it, and the next call goes on with it."""
    entries = [f"file://{tmp_path}/absent/{name}" for name in ("apple", "pear")]

    made = await make_set(SetRequest(entries, tmp_path / "set", hours=0), load(), lambda *_: None)

    assert (made.entries, made.left) == ((), 2)


def test_folders_are_replaced_as_files_are(tmp_path: Path) -> None:
    """Also where an interruption left half of one; a folder that somebody changed stays."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (tmp_path / ".target.partial").mkdir()
    for text in ("old", "new"):
        (source / "file").write_text(text)
        copy_folder_made(source, target)
        assert (target / "file").read_text() == text
    (target / "notes").write_text("mine")
    (source / "file").write_text("newer")
    with pytest.raises(UsageError, match="changed since"):
        copy_folder_made(source, target)
    assert (target / "notes").read_text() == "mine"
