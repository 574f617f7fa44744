"""Runs inside the sandbox: stands for a server of tools outside, which groundup speaks to.

    python remote_tools.py NAME PORT_FILE

Each line of its stdin is a message for the server NAME; it is handed to the port that PORT_FILE names, and what
comes back is a line of stdout. Imports nothing of groundup, and works with any Python 3.7 or later.
"""

from __future__ import annotations

import http.client
import json
import sys
import uuid
from pathlib import Path
from threading import Lock, Thread

_WAIT_S = 3600.0
_out = Lock()


def main(name: str, port_file: str) -> int:
    """Hand on lines until stdin ends."""
    session = uuid.uuid4().hex
    under_way = []
    for line in sys.stdin:
        if line.strip():
            # A call that takes long holds up no other; its first message must have come before the next one.
            one = Thread(target=_handed_on, args=(name, session, port_file, line))
            one.start()
            under_way.append(one)
            if '"initialize"' in line or '"notifications/' in line:
                one.join()
    for one in under_way:
        one.join()
    return 0


def _handed_on(name: str, session: str, port_file: str, line: str) -> None:
    try:
        port = int(Path(port_file).read_text())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_WAIT_S)
        connection.request("POST", f"/{name}/{session}", line.encode(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace").strip() if answer.status == 200 else ""
        problem = "" if answer.status in (200, 202) else f"status {answer.status}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        said, problem = "", str(error) or type(error).__name__
    if problem:
        said = _failure(line, f"the server of tools cannot be reached: {problem}")
    if said:
        with _out:
            print(said, flush=True)


def _failure(line: str, message: str) -> str:
    try:
        asked = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(asked, dict) or "id" not in asked:
        return ""
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": message}})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
