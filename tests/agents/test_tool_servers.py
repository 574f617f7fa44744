"""Servers of tools inside a real sandbox: what they say is capped, what fails is told, what ended begins again."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from groundup.agents.base import AgentContext
from groundup.agents.extras import furnished
from groundup.agents.loop import create
from groundup.api.subjects import extras_from
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.subjects import AgentExtras
from groundup.registries.server import GatewayServer, Request, Response
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from tests.agents.fakes import FakeModel, Memory, agent_context, runs, says
from tests.grading.library.laboratory import HostBuilder
from tests.needs import real_sandboxes

SERVER = """
import json, os, sys
count = 0
for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said:
        continue
    answer = {"result": {}}
    if said["method"] == "tools/list":
        second = said["params"].get("cursor")
        name = "fail" if second else "count"
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}}
        if not second:
            answer["result"]["nextCursor"] = "more"
    elif said["method"] == "tools/call" and said["params"]["name"] == "fail":
        if said["params"]["arguments"].get("dies"):
            sys.exit(1)
        answer = {"error": {"code": 1, "message": "it is broken"}}
    elif said["method"] == "tools/call":
        count += 1
        print(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "ping"}), flush=True)
        assert json.loads(sys.stdin.readline())["id"] == 77
        text = f"{count} {os.environ['WORD']} " + "x" * said["params"]["arguments"].get("long", 0)
        answer = {"result": {"content": [{"type": "text", "text": text}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}), flush=True)
"""
DONE = says("I am done.")


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """Bubblewrap; skips where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "cache"), tmp_path / "try") as found:
        yield found


def written(root: Path, server: str = SERVER, **fields: object) -> AgentExtras:
    """Return what a file of one server gives, whose folder lies beside it."""
    (root / "counter").mkdir()
    (root / "counter" / "server.py").write_text(server)
    entry = {"command": "python", "args": ["{folder}/server.py"], "env": {"WORD": "tick"}, "folder": "counter"}
    (root / "servers.json").write_text(json.dumps({"mcpServers": {"counter": {**entry, **fields}}}))
    return extras_from(root / "servers.json", None)


def context(root: Path, provider: SandboxProvider, model: FakeModel, extras: AgentExtras) -> AgentContext:
    """Return an assignment with these extras, in real sandboxes."""
    made = agent_context(root, model, provider=provider, builder=HostBuilder(root / "layers"), trajectory=Memory())
    return replace(made, extras=extras)


def told(model: FakeModel) -> list[str]:
    """Return what the model was told of its calls."""
    return [message.content for message in model.requests[-1].messages if message.role == "tool"]


@pytest.mark.end_to_end
async def test_the_loop_calls_tools_of_a_server_inside(tmp_path: Path, provider: SandboxProvider) -> None:
    """Its state outlives calls; long answers are cut; it fails, dies and begins again without a lost attempt."""
    calls: list[tuple[str, dict[str, object]]] = [
        ("counter__count", {}),
        ("counter__count", {"long": 90_000}),
        ("counter__fail", {}),
        ("counter__fail", {"dies": True}),
        ("counter__count", {}),
    ]
    model = FakeModel([*(says("", call) for call in calls), DONE, DONE])  # type: ignore[arg-type]
    ended = await create({}).attempt(context(tmp_path, provider, model, written(tmp_path)))
    assert ended.turns == 7
    assert [tool.name for tool in model.requests[0].tools] == ["bash", "submit", "counter__count", "counter__fail"]
    first, long, failed, died, again = told(model)
    assert first == "1 tick "
    assert long.startswith("2 tick xxx")
    assert "characters left out" in long
    assert len(long) < 20_000
    assert "it is broken" in failed
    assert "it ended" in died
    assert again == "1 tick "


@pytest.mark.end_to_end
@pytest.mark.parametrize("server", ["import sys; sys.exit(3)", "print('no message', flush=True); input()"])
async def test_a_server_that_does_not_work_is_named(
    tmp_path: Path, provider: SandboxProvider, server: str
) -> None:
    """Before the model is asked anything: nothing is paid for an attempt without the tools that were asked for."""
    model = FakeModel([DONE])
    with pytest.raises(TaskError, match="the tool server counter does not work"):
        await create({}).attempt(context(tmp_path, provider, model, written(tmp_path, server)))
    assert not model.requests


@pytest.mark.end_to_end
async def test_skills_are_named_and_can_be_read(tmp_path: Path, provider: SandboxProvider) -> None:
    """The system prompt has name, description and place; a skill that changed since the run began is refused."""
    skill = tmp_path / "skills" / "naming" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: naming\ndescription: How to name things.\n---\nShort.\n")
    extras = extras_from(None, tmp_path / "skills")
    model = FakeModel([runs("tail -1 /opt/skills/naming/SKILL.md"), DONE, DONE])
    made = context(tmp_path, provider, model, extras)
    await create({}).attempt(made)
    assert "- naming (/opt/skills/naming/SKILL.md): How to name things." in model.requests[0].messages[0].content
    assert told(model)[0].startswith("Short.")
    skill.write_text("other")
    with pytest.raises(UsageError, match="not as it was when the run began"):
        await furnished(made)


class FarServer:
    """A server of tools at an address, which wants its key, its session and its version back."""

    def __init__(self) -> None:
        self.keys: set[str | None] = set()
        self.sessions = 0

    async def handle(self, request: Request) -> Response:
        """Answer, in a stream where a tool is called."""
        self.keys.add(request.headers.get("authorization"))
        said = json.loads(request.body)
        method = said["method"]
        if method == "initialize":
            self.sessions += 1
            result: dict[str, object] = {"protocolVersion": "2025-06-18", "capabilities": {}}
            return self._said(said, {"result": result}, {"Mcp-Session-Id": f"s{self.sessions}"})
        if (
            request.headers.get("mcp-session-id") != f"s{self.sessions}"
            or "mcp-protocol-version" not in request.headers
        ):
            return Response(400, b"no session")
        if "id" not in said:
            return Response(202, b"")
        if method == "tools/list":
            return self._said(said, {"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}})
        if said["params"]["arguments"].get("fails"):
            return Response(503, b"not now")

        async def events() -> AsyncIterator[bytes]:
            yield b'data: {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}\n\n'
            answer = {"result": {"content": [{"type": "text", "text": "far away"}]}}
            yield b"data: " + json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}).encode() + b"\n\n"
            await asyncio.sleep(3600)

        return Response(200, events(), "text/event-stream")

    @staticmethod
    def _said(asked: dict[str, object], answer: object, headers: dict[str, str] | None = None) -> Response:
        assert isinstance(answer, dict)
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode()
        return Response(200, body, "application/json", headers or {})


@pytest.mark.end_to_end
async def test_a_server_at_an_address_is_spoken_to_from_outside(
    tmp_path: Path, provider: SandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox has no way there but this one; the key is not inside; what fails is told."""
    monkeypatch.setenv("FAR_KEY", "the-key-itself")
    far = FarServer()
    async with GatewayServer(far.handle, methods=("POST",)) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        await server.serve(listening)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        entry = {"url": url, "headers": {"Authorization": "Bearer ${FAR_KEY}"}, "type": "http"}
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"far": entry}}))
        extras = extras_from(tmp_path / "servers.json", None)
        searched = (
            f"env; cat ~/.groundup-tools; cat /proc/*/cmdline | tr '\\0' ' '; curl -sS -m 5 {url} 2>&1 | tail -1"
        )
        model = FakeModel(
            [says("", ("far__look", {})), says("", ("far__look", {"fails": True})), runs(searched), DONE, DONE]
        )
        await create({}).attempt(context(tmp_path, provider, model, extras))
    looked, failed, found = told(model)
    assert [tool.name for tool in model.requests[0].tools] == ["bash", "submit", "far__look"]
    assert looked == "far away"
    assert "status 503" in failed
    assert far.keys == {"Bearer the-key-itself"}
    assert "the-key-itself" not in found + extras.model_dump_json()
    assert "29111" in found


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    """Before anything runs."""
    path = tmp_path / "servers.json"
    entry = {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${NO_SUCH_KEY}"}}
    path.write_text(json.dumps({"mcpServers": {"far": entry}}))
    with pytest.raises(UsageError, match="far wants the environment variable NO_SUCH_KEY"):
        extras_from(path, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "no JSON"),
        ("[]", "mcpServers"),
        ('{"mcpServers": {"a": {}}}', "command"),
        ('{"mcpServers": {}}', "mcp"),
    ],
)
def test_a_wrong_file_names_its_key(tmp_path: Path, text: str, expected: str) -> None:
    """A sentence says what to mend."""
    path = tmp_path / "servers.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=expected):
        extras_from(path, None)


def test_names_in_a_file_may_be_anything(tmp_path: Path) -> None:
    """A name that cannot be a folder's is an error of the user's, not a bug."""
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {"../x": {"command": "a"}}}')
    with pytest.raises(UsageError, match="name"):
        extras_from(path, None)
