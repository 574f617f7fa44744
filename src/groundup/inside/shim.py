"""What stands in the place of every program that act starts: it sends the command out and brings back its end.

Runs inside act's sandbox, by an interpreter without site-packages; knows nothing of groundup. It sends the name it
was called by, arguments, folder, variables and the files that arguments name; it gets an exit code, what to print,
and what to append to files. So nothing of a job runs where act runs.

It starts for every step, so it goes without `json` and `socket`: these take as long as the interpreter. A question
is JSON; an answer is a line of an exit code and of `name:bytes` for each text that follows.
"""

import _socket
import os
import sys
from _json import encode_basestring_ascii as quoted

PORT = 4711
FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
"""Variables that name files which a step appends to."""
_NAMES = ("envs.txt", "outputcmd.txt", "pathcmd.txt", "statecmd.txt", "SUMMARY.md")
"""What act calls them: a step can set variables, but not have anything else written to."""
_WHERE_IS_NODE = ("--no-warnings", "-e", "console.log(process.execPath)")
"""act asks this many times, for actions that are not here."""
_READ = ("GITHUB_EVENT_PATH",)


def main() -> int:
    """Have the command run elsewhere."""
    if sys.argv[1:] == list(_WHERE_IS_NODE):
        sys.stdout.write("/usr/bin/node\n")
        return 0
    variables = dict(os.environ)
    named = [
        path for path in [*sys.argv[1:], *(variables.get(name, "") for name in _READ)] if os.path.isfile(path)
    ]
    asked = {
        "argv": "[" + ", ".join(map(quoted, [os.path.basename(sys.argv[0]), *sys.argv[1:]])) + "]",
        "cwd": quoted(os.getcwd()),
        "environment": _table(variables),
        "files": _table({path: _read(path) for path in named}),
    }
    code, texts = _answered("{" + ", ".join(f'"{name}": {value}' for name, value in asked.items()) + "}")
    for name, text in texts.items():
        if name in FILES and os.path.basename(variables.get(name, "")) in _NAMES:
            with open(variables[name], "ab") as file:
                file.write(text)
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        stream.buffer.write(texts[name])
        stream.flush()
    return code


def _answered(question: str) -> tuple[int, dict[str, bytes]]:
    """Send the question; return the exit code and the texts of the answer."""
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    connection.connect(("127.0.0.1", PORT))
    data = memoryview(question.encode() + b"\n")
    while data:
        data = data[connection.send(data) :]
    connection.shutdown(_socket.SHUT_WR)
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    connection.close()
    head, _, rest = b"".join(pieces).partition(b"\n")
    code, *parts = head.decode().split()
    texts = {}
    for part in parts:
        name, _, length = part.partition(":")
        texts[name], rest = rest[: int(length)], rest[int(length) :]
    return int(code), texts


def _table(texts: dict[str, str]) -> str:
    return "{" + ", ".join(f"{quoted(name)}: {quoted(value)}" for name, value in texts.items()) + "}"


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
