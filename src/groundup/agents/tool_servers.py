"""A client of the Model Context Protocol for servers inside an attempt's sandbox, over stdin and stdout.

What a server says comes out of a sandbox: sizes and counts are capped, and what is not understood is skipped. A
server that ended, or whose sandbox did, is started again by the next call.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from pydantic import JsonValue

from groundup.agents.extras import StartedBy, named
from groundup.agents.workspace import PREFIX, AgentSandbox
from groundup.domain.conversations import Tool
from groundup.domain.errors import SandboxError, TaskError
from groundup.inside import source_of
from groundup.sandbox.protocol import Command, Sandbox, Service

_VERSION = "2025-06-18"
_START_S, _CALL_S = 120.0, 600.0
_LINE = 8 * 1024 * 1024
_MOST_TOOLS = 100
_MOST_PAGES = 20
_LEAVES_OUT = "\n[{left} characters left out]\n"


class ServerFailedError(Exception):
    """A server ended, was silent for too long, or said no."""


class _Line(NamedTuple):
    """A server that runs, and the connection to it."""

    sandbox: Sandbox
    service: Service
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class ToolServers:
    """The servers of one attempt."""

    def __init__(self, place: AgentSandbox, servers: Sequence[StartedBy]) -> None:
        self.tools: tuple[Tool, ...] = ()
        self._place = place
        self._servers = servers
        self._lines: dict[str, _Line] = {}
        self._owners: dict[str, tuple[StartedBy, str]] = {}
        self._number = 0

    async def begin(self) -> None:
        """Start all, and ask for their tools. Raises `TaskError`: the run's user named them."""
        found: list[Tool] = []
        for server in self._servers:
            try:
                found += await self._listed(server)
            except ServerFailedError as error:
                raise TaskError(f"the tool server {server.name} does not work: {error}") from error
        self.tools = tuple(found)

    def knows(self, name: str) -> bool:
        """Whether *name* is a tool of theirs."""
        return name in self._owners

    async def call(self, name: str, arguments: JsonValue, most: int) -> str:
        """Return what the tool says, at most about *most* characters; a failure is told in words."""
        server, tool = self._owners[name]
        try:
            answer = await self._ask(server, "tools/call", {"name": tool, "arguments": arguments}, _CALL_S)
        except ServerFailedError as error:
            return f"[the tool failed: {error}]"
        text = _texts(answer.get("content"))
        if answer.get("isError") is True:
            text = f"[the tool says that it failed]\n{text}"
        return _cut(text, most)

    async def close(self) -> None:
        """Leave all connections; the servers end with the sandbox."""
        for line in self._lines.values():
            line.writer.close()
        self._lines.clear()

    async def _listed(self, server: StartedBy) -> list[Tool]:
        found: list[Tool] = []
        cursor: JsonValue = None
        for _ in range(_MOST_PAGES):
            asked: dict[str, JsonValue] = {} if cursor is None else {"cursor": cursor}
            answer = await self._ask(server, "tools/list", asked, _START_S)
            listed = answer.get("tools")
            for one in listed if isinstance(listed, list) else ():
                if isinstance(one, dict) and isinstance(one.get("name"), str) and len(found) < _MOST_TOOLS:
                    found.append(self._tool(server, one))
            cursor = answer.get("nextCursor")
            if not isinstance(cursor, str):
                break
        return found

    def _tool(self, server: StartedBy, said: dict[str, JsonValue]) -> Tool:
        name = named(server, str(said["name"]))
        self._owners[name] = server, str(said["name"])
        schema = said.get("inputSchema")
        parameters = schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object"}
        return Tool(
            name=name,
            description=str(said.get("description") or "")[:4000],
            parameters={"properties": {}, **parameters},
        )

    async def _ask(
        self, server: StartedBy, method: str, params: dict[str, JsonValue], within_s: float
    ) -> dict[str, JsonValue]:
        try:
            async with asyncio.timeout(within_s):
                line = await self._line(server)
                return await self._exchanged(line, method, params)
        except TimeoutError as error:
            await self._lost(server)
            raise ServerFailedError(f"no answer within {within_s:g} s") from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            await self._lost(server)
            raise ServerFailedError(f"it ended, or said what is no message ({type(error).__name__})") from error

    async def _exchanged(self, line: _Line, method: str, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the result of one request; requests of the server's own are answered on the way."""
        self._number += 1
        await _say(line, {"id": self._number, "method": method, "params": params})
        while True:
            said = json.loads(await line.reader.readuntil(b"\n"))
            if not isinstance(said, dict):
                continue
            if said.get("id") == self._number and "method" not in said:
                if isinstance(result := said.get("result"), dict):
                    return result
                raise ServerFailedError(_cut(json.dumps(said.get("error"), ensure_ascii=False), 2000))
            if "method" in said and "id" in said:
                refused: dict[str, JsonValue] = {"error": {"code": -32601, "message": "not offered"}}
                await _say(line, {"id": said["id"], **({"result": {}} if said["method"] == "ping" else refused)})

    async def _line(self, server: StartedBy) -> _Line:
        """Return the connection to *server*, which is started where it does not run in the sandbox of now."""
        sandbox = await self._place.sandbox()
        known = self._lines.get(server.name)
        if known is not None and known.sandbox is sandbox and known.service.alive():
            return known
        await self._lost(server)
        program = source_of("tool_server.py").decode()
        service = await self._place.start(
            Command(
                argv=(f"{PREFIX}/bin/python", "-I", "-c", program, *server.argv),
                environment=dict(server.environment),
                timeout_s=7 * 24 * 3600.0,
            )
        )
        port = await _port_of(service)
        try:
            connection = await sandbox.connect(port)
        except SandboxError as error:
            raise ServerFailedError(str(error)) from error
        reader, writer = await asyncio.open_connection(sock=connection, limit=_LINE)
        line = self._lines[server.name] = _Line(sandbox, service, reader, writer)
        about: JsonValue = {"name": "groundup", "version": "1"}
        begun: dict[str, JsonValue] = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": about}
        await self._exchanged(line, "initialize", begun)
        await _say(line, {"method": "notifications/initialized"})
        return line

    async def _lost(self, server: StartedBy) -> None:
        if (line := self._lines.pop(server.name, None)) is not None:
            line.writer.close()


@asynccontextmanager
async def tool_servers(place: AgentSandbox, servers: Sequence[StartedBy]) -> AsyncIterator[ToolServers]:
    """Yield the servers of an attempt, begun."""
    found = ToolServers(place, servers)
    try:
        await found.begin()
        yield found
    finally:
        await found.close()


async def _say(line: _Line, message: dict[str, JsonValue]) -> None:
    line.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    await line.writer.drain()


async def _port_of(service: Service) -> int:
    """Return the port that a started `tool_server.py` prints first."""
    while True:
        first, ended, _ = service.output().partition(b"\n")
        if ended and first.isdigit():
            return int(first)
        if ended or not service.alive():
            raise ServerFailedError(
                f"it does not start: {service.output()[-500:].decode(errors='replace').strip()}"
            )
        await asyncio.sleep(0.02)


def _texts(content: JsonValue) -> str:
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    said = [
        str(part.get("text", "")) if part.get("type") == "text" else f"[{part.get('type')} left out]"
        for part in parts
    ]
    return "\n".join(said) or "[no text]"


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return text[:half] + _LEAVES_OUT.format(left=len(text) - 2 * half) + text[-half:]
