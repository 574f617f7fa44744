"""Runs inside the sandbox: reads and edits one file for the tools `read` and `edit`.

Its input is a call's arguments as JSON, its output what the model is told; it ends with 1 where nothing was done.
Imports nothing of groundup, and works with any Python 3.7 or later that a task may have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_LINES = 2000


def read(path: Path, given: dict[str, Any]) -> str:
    """Return lines of a file, numbered from 1, or the names in a folder."""
    start, count = int(given.get("start") or 1), int(given.get("lines") or _LINES)
    if start < 1 or count < 1:
        raise ValueError("start and lines count from 1")
    if path.is_dir():
        return "".join(sorted(f"{entry.name}\n" for entry in path.iterdir()))
    lines = _text(path).splitlines()
    shown = lines[start - 1 : start - 1 + count]
    left = len(lines) - (start - 1) - len(shown)
    numbered = "".join(f"{number}\t{line}\n" for number, line in enumerate(shown, start))
    return numbered + (f"[{left} more lines]\n" if left > 0 else "")


def edit(path: Path, given: dict[str, Any]) -> str:
    """Replace what stands in a file once, or everywhere; write a new file where nothing is to be replaced."""
    old, new = given["old"], given["new"]
    if not (isinstance(old, str) and isinstance(new, str)):
        raise TypeError("old and new are texts")
    if not old:
        if path.exists() and path.stat().st_size:
            raise ValueError(f"{path} is not empty: say which of its text is old")
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, new)
        return f"{path} is written\n"
    text = _text(path)
    found = text.count(old)
    if not found:
        raise ValueError(f"{path} does not hold the old text; it must be exact, with its blanks and line ends")
    if found > 1 and not given.get("all"):
        raise ValueError(f"{path} holds the old text {found} times: give more of it, or set all")
    _write(path, text.replace(old, new))
    return f"replaced in {path}, {found} time{'s' * (found > 1)}\n"


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def main() -> int:
    """Do what the first argument names with what stands on standard input."""
    given = json.load(sys.stdin)
    try:
        said, code = {"read": read, "edit": edit}[sys.argv[1]](Path(given["path"]), given), 0
    except KeyError as error:
        said, code = f"nothing was done: {error} is missing\n", 1
    except (OSError, ValueError, TypeError) as error:
        said, code = f"nothing was done: {error}\n", 1
    sys.stdout.buffer.write(said.encode("utf-8", "replace"))
    return code


if __name__ == "__main__":
    sys.exit(main())
