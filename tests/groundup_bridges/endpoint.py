"""A model behind an OpenAI-compatible endpoint that calls the tools of a script in turn, and streams."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Script = Sequence[tuple[str, dict[str, Any]]]
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@asynccontextmanager
async def endpoint(script: Script) -> AsyncIterator[str]:
    """Yield the address of a model that makes the calls of *script*, and then says that it is done."""

    async def complete(request: Request) -> Response:
        asked = await request.json()
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        names = [tool["function"]["name"] for tool in asked.get("tools") or ()]
        message = _message(script, turn, names)
        if not asked.get("stream"):
            return JSONResponse({**_shell(message, "message"), "object": "chat.completion", "usage": USAGE})
        return StreamingResponse(_streamed(message), media_type="text/event-stream")

    listener = socket.create_server(("127.0.0.1", 0))
    routes = [Route("/v1/chat/completions", complete, methods=["POST"])]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off"))
    serving = asyncio.create_task(server._serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = server.force_exit = True
        await serving


def _message(script: Script, turn: int, names: Sequence[str]) -> dict[str, Any]:
    if turn >= len(script):
        return {"role": "assistant", "content": "done"}
    wanted, given = script[turn]
    name = next((one for one in names if one == wanted or one.endswith(f"_{wanted}")), wanted)
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _shell(message: dict[str, Any], key: str) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, key: message, "finish_reason": finish}
    return {"id": "1", "created": 1, "model": "scripted", "choices": [choice]}


async def _streamed(message: dict[str, Any]) -> AsyncIterator[str]:
    """Yield the message as chunks, then the usage, as `include_usage` asks for it."""
    told = {"object": "chat.completion.chunk"}
    yield f"data: {json.dumps({**_shell(message, 'delta'), **told})}\n\n"
    last = {"id": "1", "created": 1, "model": "scripted", "choices": [], "usage": USAGE, **told}
    yield f"data: {json.dumps(last)}\n\n"
    yield "data: [DONE]\n\n"
