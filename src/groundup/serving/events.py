"""Answers of calls as server-sent events, so that no client damages them.

SDKs strip white space at the start of data, read no line above 64 KB, end a call after 30 silent seconds, and ask
again with the id that they got first: so the id is sent before the work begins, and a comment every ten seconds.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from pydantic import JsonValue
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from groundup.serving.calls import SessionCall

COMMENT_S = 10.0
_CHUNK = 8 * 1024
"""If all of it is spaces, six times as much is sent."""
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}

Document = Mapping[str, JsonValue]
Form = Callable[[SessionCall], Document]
"""Returns what a call came to, as the protocol says it. Raises for an `error` event."""


def event(name: str, data: str) -> bytes:
    """Return one event; *data* has no line breaks."""
    return f"event: {name}\ndata: {data}\n\n".encode()


def answer_events(document: Document) -> Iterator[bytes]:
    """Yield *document* in chunks, the last one as `end`."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    # White space at the end of a chunk survives; at the start it does not, and only JSON strings hold any.
    parts = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    for number, part in enumerate(parts, start=1):
        bare = part.lstrip(" ")
        yield event("end" if number == len(parts) else "chunk", "\\u0020" * (len(part) - len(bare)) + bare)


def error_event(error: BaseException) -> bytes:
    """Return the event that ends a client's session: the infrastructure failed, and there is no reward."""
    return event("error", " ".join(str(error).split())[:2000] or type(error).__name__)


class CallStream(Response):
    """Begins a call and streams what it comes to. A client that leaves early does not end the call."""

    media_type = "text/event-stream"

    def __init__(self, call: SessionCall, form: Form) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._call = call
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream it."""
        leaving = asyncio.create_task(_left(receive))
        delivered = False
        try:
            await send(self._start())
            await send(_body(event("task_id", self._call.id)))
            # Once round the loop: a connection that is broken already is noticed before anything is done.
            await asyncio.sleep(0)
            self._call.begin()
            while not await self._call.wait(COMMENT_S, leaving):
                if leaving.done():
                    return
                await send(_body(b": working\n\n"))
            for part in self._parts():
                await send(_body(part))
            delivered = not leaving.done()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if not delivered:
                self._call.lost()
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving

    def _start(self) -> Message:
        return {"type": "http.response.start", "status": 200, "headers": self.raw_headers}

    def _parts(self) -> Iterator[bytes]:
        try:
            document = self._form(self._call)
        except Exception as error:  # noqa: BLE001 - the boundary of one call: whatever failed, there is no reward
            yield error_event(error)
            return
        yield from answer_events(document)


def _body(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


async def _left(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
