"""Tests of groundup.models.exchanges: what was paid for is used again, and only where it belongs."""

from pathlib import Path

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.models.cache import for_attempt
from groundup.models.opening import open_model
from groundup.models.settings import ModelSettings
from tests.models.conftest import Write, saying

HELLO = '[[turn]]\ncontent = "hello"\n'


async def test_a_second_run_pays_nothing(scripted: Write, tmp_path: Path) -> None:
    """The same request of the same attempt is answered from the disk, at no cost, and says so."""
    settings = ModelSettings(cache_dir=tmp_path / "kept", price="1:1")
    replies: list[ChatReply] = []
    for _ in range(2):
        async with open_model(scripted(HELLO), settings) as model:
            replies.append(await model.complete(saying("hi")))
    assert [reply.cached for reply in replies] == [False, True]
    assert (replies[0].cost_usd or 0) > 0
    assert replies[1].cost_usd == 0
    assert replies[1].message == replies[0].message
    assert replies[1].usage == replies[0].usage


async def test_what_differs_is_asked_again(scripted: Write, tmp_path: Path) -> None:
    """Another attempt, temperature or setting, and a second time in one attempt, are other requests."""
    kept = tmp_path / "kept"
    warm = saying("hi").but(temperature=1.0)
    asked: list[ChatReply] = []
    async with open_model(scripted(HELLO), ModelSettings(cache_dir=kept)) as model:
        asked.append(await model.complete(saying("hi")))
        asked.append(await model.complete(saying("hi")))
        asked.append(await model.complete(warm))
        asked.append(await for_attempt(model, 1).complete(saying("hi")))
    async with open_model(scripted(HELLO), ModelSettings(cache_dir=kept, temperature=0.5)) as model:
        asked.append(await model.complete(saying("hi")))
    assert not any(reply.cached for reply in asked)


async def test_nothing_is_kept_unasked(scripted: Write, tmp_path: Path) -> None:
    """Without a folder for it there is no cache, and every attempt has the same model."""
    async with open_model(scripted(HELLO)) as model:
        await model.complete(saying("hi"))
        assert not (await model.complete(saying("hi"))).cached
        assert for_attempt(model, 3) is model
    assert [path.name for path in tmp_path.iterdir()] == ["script.toml"]


async def test_damaged_entries_are_asked_again(scripted: Write, tmp_path: Path) -> None:
    """What cannot be read from the disk is as good as not there."""
    settings = ModelSettings(cache_dir=tmp_path / "kept")
    request = ChatRequest(messages=saying("hi").messages)
    async with open_model(scripted(HELLO), settings) as model:
        await model.complete(request)
    for path in (tmp_path / "kept").rglob("*.json"):
        path.write_text("{")
    async with open_model(scripted(HELLO), settings) as model:
        assert not (await model.complete(request)).cached
