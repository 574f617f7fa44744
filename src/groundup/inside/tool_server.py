"""Runs inside the sandbox: starts a server of tools, and joins its stdin and stdout to a port for its callers.

    python tool_server.py COMMAND ARGUMENT...

Prints the port. The server is started once and lives as long as this; a caller that comes later goes on with it.
Imports nothing of groundup, and works with any Python 3.7 or later that a task may have.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from typing import Any

_PIECE = 65536


def main(command: list[str]) -> int:
    """Serve callers until the server ends."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    callers: list[socket.socket] = []
    threading.Thread(target=_answers, args=(server.stdout, callers), daemon=True).start()
    threading.Thread(target=_accept, args=(listener, server.stdin, callers), daemon=True).start()
    return server.wait()


def _accept(listener: socket.socket, stdin: Any, callers: list[socket.socket]) -> None:
    while True:
        caller, _ = listener.accept()
        callers[:] = [caller]
        while True:
            try:
                said = caller.recv(_PIECE)
                if not said:
                    break
                stdin.write(said)
                stdin.flush()
            except OSError:
                break


def _answers(stdout: Any, callers: list[socket.socket]) -> None:
    while True:
        said = stdout.read1(_PIECE)
        if not said:
            break
        with contextlib.suppress(OSError, IndexError):
            callers[-1].sendall(said)
    for caller in callers:
        caller.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
