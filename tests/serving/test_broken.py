"""Connections that break at every stage: nothing is done twice, and every reward is recorded once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving.house import Client, Hold, House, events, job_in, joined, opened, until
from tests.serving.proxy import WHOLE, breaking

# An answer's header has about 170 bytes, the first event about 60.
CUTS = (0, 1, 100, 175, 200, 240)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A server."""
    Hold.over = asyncio.Event()
    async with opened(job_in(tmp_path)) as found:
        yield found


async def asked(address: str, sid: str, body: dict[str, object]) -> str:
    """Return what arrives of an answer."""
    text = ""
    async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=None) as http:
        try:
            async with http.stream("POST", "/call", json=body, headers={"X-Session-ID": sid}) as response:
                async for part in response.aiter_text():
                    text += part
        except httpx.HTTPError:
            pass
    return text


def known_id(answer: str) -> dict[str, object]:
    """Return by what an SDK asks again: the call's id, if it came whole."""
    told = [data for name, data in events(answer) if name == "task_id"] if answer.endswith("\n\n") else []
    return {"task_id": told[0]} if told else {}


def commands_run(house: House) -> int:
    """Return how many commands the first attempt ran."""
    commands = house.job.path / "attempts" / "task-0000" / "0" / "submission" / "commands"
    return len(commands.read_text().splitlines())


@pytest.mark.parametrize("cut", CUTS)
async def test_a_call_is_made_once(house: House, cut: int) -> None:
    """Wherever its stream breaks; the client asks again as SDKs do, with the id if it came."""
    async with Client(house.address) as client, breaking(house.address, cut) as proxy:
        sid = await client.create()
        body: dict[str, object] = {"name": "bash", "input": {"command": "held"}}
        first = await asked(proxy.address, sid, body)

        async def is_noticed() -> bool:
            call = house.service.sessions.all[0].last_call
            return call is not None and call.is_lost

        await until(is_noticed)
        again = asyncio.create_task(asked(proxy.address, sid, {**body, **known_id(first)}))
        await asyncio.sleep(0)
        Hold.over.set()
        assert joined(await again)["output"]["blocks"][0]["text"] == "done\n[exit code 0]"
        assert proxy.broken == 1
        await client.call(sid, "submit")
    assert commands_run(house) == 1


@pytest.mark.parametrize("cut", CUTS)
async def test_a_call_that_takes_no_time_is_made_once(house: House, cut: int) -> None:
    """The connection breaks while the command ends, and its client asks again at once."""
    async with Client(house.address) as client, breaking(house.address, cut) as proxy:
        sid = await client.create()
        body: dict[str, object] = {"name": "bash", "input": {"command": "true"}}
        first = await asked(proxy.address, sid, body)
        again = await asked(proxy.address, sid, {**body, **known_id(first)})
        assert joined(again)["output"]["blocks"][0]["text"].endswith("[exit code 0]")
        assert proxy.broken == 1
        await client.call(sid, "submit")
    assert commands_run(house) == 1


@pytest.mark.parametrize("path", ["/create_session", "/create", "/prompt", "/delete"])
async def test_a_lost_answer_is_asked_for_again(house: House, path: str) -> None:
    """Every other request can be repeated as it is."""
    sid = "mine"
    asks: dict[str, tuple[str, dict[str, Any] | None]] = {
        "/create_session": ("POST", None),
        "/create": ("POST", {"split": "test", "index": 0}),
        "/prompt": ("GET", None),
        "/delete": ("POST", None),
    }
    before = list(asks).index(path)
    async with breaking(house.address, *([WHOLE] * before), 0) as proxy:
        for step, (method, body) in asks.items():
            for _ in range(2 if step == path else 1):
                async with httpx.AsyncClient(base_url=proxy.address, trust_env=False, timeout=None) as http:
                    try:
                        answer = await http.request(method, step, json=body, headers={"X-Session-ID": sid})
                    except httpx.HTTPError:
                        continue
                    assert answer.status_code == 200
            if step == path:
                break
        assert proxy.broken == 1
