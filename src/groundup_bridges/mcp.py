"""MCP over streamable HTTP, by the official SDK: `/mcp/TASK/NAME` is an episode of TASK, whose client chose NAME.

The protocol has no sessions of its own any more, so the address names one. The first call of a tool opens the
episode; `submit`, silence or DELETE ends it.

What a model may see is text. There is no structured content, for where there is some, programs show their model
that alone. What only the trainer may see is in `_meta`, which no program shows its model.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from groundup.domain.errors import GroundupError
from groundup.domain.version import __version__
from groundup.serving.http import ServedTasks, client_of, refusal
from groundup.serving.offers import tools
from groundup.serving.session import Session
from groundup.serving.sessions import UnknownSessionError

_OPEN_S = 600.0
"""How long a call waits for a slot; the stream has comments meanwhile."""

Context = ServerRequestContext[Any, Any]


class Mcp:
    """The routes. They answer while `running` is entered."""

    def __init__(self, service: ServedTasks) -> None:
        self._service = service
        server: Server[Any] = Server(
            "groundup",
            version=__version__,
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
        )
        # Who may ask is decided before, by our own gate.
        open_door = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._manager = StreamableHTTPSessionManager(server, stateless=True, security_settings=open_door)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[list[BaseRoute]]:
        begun, leaving = asyncio.Event(), asyncio.Event()
        holding = asyncio.create_task(self._hold(begun, leaving))
        try:
            await asyncio.wait({holding, asyncio.create_task(begun.wait())}, return_when=asyncio.FIRST_COMPLETED)
            yield [Route("/mcp/{task}/{name}", _Door(self._service, self._manager))]
        finally:
            leaving.set()
            await holding

    async def _hold(self, begun: asyncio.Event, leaving: asyncio.Event) -> None:
        """Enter and leave the SDK's task group in one task, whichever task enters and leaves `running`."""
        async with self._manager.run():
            begun.set()
            await leaving.wait()

    async def _tools(self, context: Context, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)
                for tool in tools(self._service.rules)
            ]
        )

    async def _prompts(self, context: Context, params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="task", description="What is asked")])

    async def _prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        task = self._service.offer.named(_request(context).path_params["task"])
        text = types.TextContent(type="text", text=self._service.offer.prompt(task, self._service.rules))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call the tool. A failure of ours is an error, too: the model should not go on."""
        try:
            session = self._session(_request(context))
            await session.ready(_OPEN_S)
            call = session.call(params.name, params.arguments or {})
            call.begin()
            await call.wait()
            answer = call.answer()
        except GroundupError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        counts = {**answer.counts, "reward": answer.reward, "finished": answer.finished}
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            _meta={f"groundup/{name}": value for name, value in counts.items()},
        )

    def _session(self, request: Request) -> Session:
        name, client = _named(request), client_of(request)
        try:
            return self._service.sessions.find(name, client)
        except UnknownSessionError:
            task = self._service.offer.named(request.path_params["task"])
            return self._service.sessions.create(name, client, task)


def _request(context: Context) -> Request:
    request = context.request
    assert isinstance(request, Request), "the transport is HTTP"
    return request


def _named(request: Request) -> str:
    # No name of a task has a slash, so no two addresses mean the same session.
    return f"mcp/{request.path_params['task']}/{request.path_params['name'][:200]}"


class _Door:
    """Lets requests of existing tasks in, shows their prompt to who asks without MCP, and ends at DELETE."""

    def __init__(self, service: ServedTasks, manager: StreamableHTTPSessionManager) -> None:
        self._service = service
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            task = self._service.offer.named(request.path_params["task"])
        except GroundupError as error:
            await refusal(error)(scope, receive, send)
            return
        if request.method == "GET" and "text/event-stream" not in request.headers.get("accept", ""):
            await PlainTextResponse(self._service.offer.prompt(task, self._service.rules))(scope, receive, send)
            return
        if request.method == "DELETE":
            await self._service.sessions.end(_named(request), client_of(request))
            await Response(status_code=204)(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)
