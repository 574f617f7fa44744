"""What a service carries along when its lost tests run once more: it tells which lines ran, and takes other code.

Python imports it as `sitecustomize` before the service, in each process. Who runs the tests asks it, over a port
that only the pod has. It stands in one process with untrusted code, beside `spectrum` and `live`, needs the
standard library only, and works on Python 3.8 to 3.13. What it says is a guess for people.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import marshal
import os
import socket
import sys
import threading
import time
import types
from typing import Any

FIRST_PORT = 39470
PORTS = 8
"""A start command may start several processes; each takes the first one that is free."""
_ROOT = "/workspace/"
_FOREIGN = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/")
_MOST = 1024 * 1024


class Watched:
    """The service's own code in this process."""

    def __init__(self) -> None:
        self._new_tracer = _beside("spectrum").LineTracer
        self._new_live = _beside("live").LiveCode
        self._tracer: Any = self._new_tracer(self.is_own)
        self._live: Any = None

    @staticmethod
    def is_own(code: types.CodeType) -> bool:
        """Say whether code is the submission's."""
        return code.co_filename.startswith(_ROOT) and not any(part in code.co_filename for part in _FOREIGN)

    def trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """Take a call in, as a trace function does."""
        return self._tracer and self._tracer(frame, event, argument)

    def begin(self) -> int:
        """Forget the lines that ran so far."""
        self._tracer = self._new_tracer(self.is_own)
        return 0

    def lines(self) -> list[Any]:
        """Return which lines ran: for each function its file, first line, names and lines with their order."""
        found: dict[types.CodeType, list[tuple[int, int]]] = {}
        for (code, line), order in list(self._tracer.last.items()):
            found.setdefault(code, []).append((line, order))
        return [
            [code.co_filename, code.co_firstlineno, code.co_names, ran]
            for code, ran in found.items()
            if code.co_name != "<module>"
        ]

    def rest(self) -> int:
        """See no more lines: that takes time."""
        self._tracer = None
        return 0

    @staticmethod
    def spent() -> float:
        """Return the processor time of this process so far."""
        return time.process_time()

    def put(self, path: str, first: int, last: int, codes: list[Any], defaults: dict[str, Any]) -> int:
        """Give functions between two lines of a file other code and defaults; say how many changes that is."""
        live = self._now()
        live.forget()
        found = {(name, line): _loaded(text) for name, line, text in codes}
        return int(live.put(live.within(path, first, last), found, defaults))

    def assign(self, path: str, classes: list[str], text: str) -> int:
        """Run an assignment of a module or a class again; return how many changes there are."""
        return int(self._now().assign(path, classes, _loaded(text)))

    def undo(self) -> int:
        """Take all changes back."""
        self._now().undo()
        return 0

    def _now(self) -> Any:
        self._live = self._live or self._new_live(self.is_own)
        return self._live

    def start(self) -> None:
        """Answer in a thread, also of a process that is forked later."""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            server = socket.socket()
            with contextlib.suppress(OSError):
                server.bind(("127.0.0.1", port))
                server.listen(4)
                break
            server.close()
        else:
            return
        while True:
            connection = server.accept()[0]
            with contextlib.suppress(Exception), connection, connection.makefile("rwb") as file:
                for line in iter(lambda: file.readline(_MOST), b""):
                    asked = json.loads(line.decode("utf-8"))
                    answer: Any = None
                    with contextlib.suppress(Exception):  # what cannot be done is no answer
                        answer = getattr(self, asked.pop("do"))(**asked)
                    file.write(json.dumps(answer).encode("ascii") + b"\n")
                    file.flush()


def _loaded(text: str) -> Any:
    return marshal.loads(base64.b64decode(text))  # noqa: S302 - made by groundup


def _beside(name: str) -> Any:
    path = os.path.join(os.path.dirname(__file__), name + ".py")  # noqa: PTH118, PTH120 - imports little
    spec = importlib.util.spec_from_file_location("groundup_" + name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "sitecustomize":
    _watched = Watched()
    _watched.start()
    os.register_at_fork(after_in_child=_watched.start)
    threading.settrace(_watched.trace)
    sys.settrace(_watched.trace)
