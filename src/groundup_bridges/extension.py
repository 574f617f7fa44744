"""What this package adds to groundup's tables (`groundup/extensions.py`): the protocols of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from groundup.catalog import Lazy

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from groundup.serving.http import ServedTasks
    from groundup.serving.protocols import Protocol

_LACKS = "lacks the SDK: pip install 'groundup[mcp]', and start it again"


def _nemo_gym() -> "Protocol":
    from groundup_bridges.nemo_gym import PROTOCOL

    return PROTOCOL


def _openenv() -> "Protocol":
    from groundup_bridges.openenv import PROTOCOL

    return PROTOCOL


def _mcp() -> "Protocol":
    """Return MCP where its SDK is, and otherwise what says that it is not."""
    from groundup.serving.protocols import Protocol

    if find_spec("mcp_types") is None:
        return Protocol("MCP", "at /mcp/TASK/NAME", _closed, _LACKS)
    from groundup_bridges.mcp import Mcp

    return Protocol("MCP", "at /mcp/TASK/NAME", lambda service: Mcp(service).running())


@asynccontextmanager
async def _closed(service: "ServedTasks") -> AsyncIterator[list["BaseRoute"]]:
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def closed(request: Request) -> Response:
        return JSONResponse({"detail": f"this server does not speak MCP; it {_LACKS}"}, 501)

    yield [Route("/mcp/{rest:path}", closed, methods=["GET", "POST", "DELETE"])]


PROTOCOLS: "dict[str, Lazy[Protocol]]" = {"nemo-gym": _nemo_gym, "openenv": _openenv, "mcp": _mcp}
