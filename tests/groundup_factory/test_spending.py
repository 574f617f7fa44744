"""Budgets of models that write for sets: nothing beyond them, nothing paid twice, and what it cost is told."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.errors import UsageError
from groundup.settings import Settings, load
from groundup.suites.sets import SetTask
from groundup_factory.set_entries import EntryWalk, MadeTask, SetEntry, SetPlace, SetWish, parse_wish
from groundup_factory.sets import SetRequest, SetYield, make_set
from groundup_factory.spending import SPENDING, SetModel
from groundup_factory.yields import evidence_of, yield_of


class Asking:
    """A kind of set whose tasks are what a model answers."""

    steps: tuple[str, ...] = ("specified",)

    def parse(self, text: str) -> SetWish:
        """Return the entry."""
        return parse_wish(text)

    async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Ask, and keep the answer."""
        assert place.spending is not None
        async with place.spending.opened(walk.wish.text) as model:
            message = Message(role="user", content=f"Write {walk.wish.name}.")
            reply = await model.complete(ChatRequest(messages=(message,)))
        (place.folder / f"{walk.wish.name}.txt").write_text(reply.message.content or "")
        return MadeTask(walk.wish.name, 1)

    def finished(self, one: SetEntry, folder: Path) -> None:
        """Do nothing."""

    def is_there(self, one: SetEntry, folder: Path) -> bool:
        """Whether there is an answer."""
        return (folder / f"{one.task}.txt").is_file()

    def is_pending(self, one: SetEntry, folder: Path) -> bool:
        """Nothing is added later."""
        return False

    def described(self, one: SetEntry, folder: Path) -> SetTask:
        """Say little."""
        return SetTask(
            id=one.task,
            entry=one.entry,
            source=one.entry,
            licence="MIT",
            specification="written",
            tests=1,
            left_out=0,
            files={},
        )

    def adopt(self, one: SetEntry, part: Path, folder: Path) -> None:
        """Do nothing: nothing is made elsewhere."""

    def shared(self, folder: Path) -> Mapping[str, str]:
        """Return none."""
        return {}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with an own cache."""
    return load({"cache_dir": str(tmp_path / "cache")})


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return the name of a model that answers everything alike."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turn": [{"content": "It is a library."}]}))
    return f"scripted/{path}"


async def made(tmp_path: Path, settings: Settings, model: SetModel) -> SetYield:
    """Make a set of two entries."""
    wanted = SetRequest(["apple", "pear"], tmp_path / "set", model=model)
    return await make_set(wanted, settings, lambda *_: None, Asking())


async def test_nothing_is_asked_beyond_the_tokens(tmp_path: Path, settings: Settings, script: str) -> None:
    """What was not begun is left; with a larger limit the same command goes on."""
    first = await made(tmp_path, settings, SetModel(script, max_tokens=1))
    again = await made(tmp_path, settings, SetModel(script, max_tokens=1))
    whole = await made(tmp_path, settings, SetModel(script, max_tokens=1000))

    assert [(one.task, one.standing) for one in first.entries] == [("apple", "accepted")]
    assert (first.left, first.why_left) == (1, "the budget of models is spent")
    assert (again.kept, again.left) == (1, 1)
    assert (whole.kept, whole.left, [one.standing for one in whole.entries]) == (1, 0, ["accepted"] * 2)
    (told,) = yield_of(tmp_path / "set").models
    assert (told.replies, told.usd) == (2, None)
    assert "2 replies" in str(told)
    assert "of no known price" in str(told)
    (own,) = evidence_of(tmp_path / "set", "pear").models
    assert own.replies == 1
    assert 0 < own.tokens < told.tokens


async def test_an_entry_that_the_money_does_not_suffice_for_is_pending(
    tmp_path: Path, settings: Settings, script: str
) -> None:
    """It is no rejected one; raised, the limit counts what was spent before."""
    first = await made(tmp_path, settings, SetModel(script, price="1:1", max_cost_usd=1e-9))
    report = yield_of(tmp_path / "set")
    whole = await made(tmp_path, settings, SetModel(script, price="1:1", max_cost_usd=1))

    ((entry),) = first.entries
    assert (entry.standing, entry.cause, first.left) == ("pending", "budget of models", 1)
    assert "raise --max-cost" in entry.why
    assert (report.rows[-1].failed, report.models) == (1, ())
    assert [one.standing for one in whole.entries] == ["accepted"] * 2
    (told,) = yield_of(tmp_path / "set").models
    assert told.usd == pytest.approx(told.tokens / 1e6)


async def test_what_a_killed_call_paid_is_not_paid_again(tmp_path: Path, settings: Settings, script: str) -> None:
    """The reply is at hand when the entry is made anew, and counted once."""
    await made(tmp_path, settings, SetModel(script))
    (tmp_path / "set" / "entries.jsonl").unlink()  # as if it had been killed after the replies
    again = await made(tmp_path, settings, SetModel(script))

    assert [one.standing for one in again.entries] == ["accepted"] * 2
    assert len((tmp_path / "set" / SPENDING).read_text().splitlines()) == 2


async def test_a_limit_needs_a_price(tmp_path: Path, settings: Settings, script: str) -> None:
    """It is said before anything is made."""
    with pytest.raises(UsageError, match="needs a price"):
        await made(tmp_path, settings, SetModel(script, max_cost_usd=1))
