"""What stands in the place of every program that act starts: it sends the command out and brings back its end.

Runs inside act's sandbox, by an interpreter without site-packages; knows nothing of groundup. It sends the name it
was called by, arguments, folder, variables and the files that arguments name; it gets an exit code, what to print,
and what to append to files. So nothing of a job runs where act runs.
"""

import json
import os
import socket
import sys

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
        "argv": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
        "cwd": os.getcwd(),
        "environment": variables,
        "files": {path: _read(path) for path in named},
    }
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        connection.sendall(json.dumps(asked).encode() + b"\n")
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            answered = json.loads(answer.read())
    for name, text in answered["files"].items():
        if name in FILES and os.path.basename(variables.get(name, "")) in _NAMES:
            with open(variables[name], "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
    sys.stdout.write(answered["stdout"])
    sys.stdout.flush()
    sys.stderr.write(answered["stderr"])
    return int(answered["exit_code"])


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
