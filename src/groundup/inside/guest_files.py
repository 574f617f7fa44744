"""Runs inside the sandbox: reads and edits one file for the tools `read` and `edit`.

Its input is a call's arguments as JSON, its output the text for the model; it ends with 1 where nothing was done,
and with 3 where what is to be read is an image, whose bytes `image` gives in base 64.
Imports nothing of groundup, and works with any Python 3.7 or later that a task may have.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

_LINES = 2000
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_IMAGE_BYTES = 3 * 1024 * 1024


class IsImageError(Exception):
    """A file that has no lines."""


def read(path: Path, given: dict[str, Any]) -> str:
    """Return lines of a file, numbered from 1, or the names in a folder."""
    start, count = int(given.get("start") or 1), int(given.get("lines") or _LINES)
    if start < 1 or count < 1:
        raise ValueError("start and lines count from 1")
    if path.is_dir():
        return "".join(sorted(f"{entry.name}\n" for entry in path.iterdir()))
    with path.open("rb") as file:
        head = file.read(12)
    if head.startswith(_IMAGES[:3]) or (head.startswith(_IMAGES[3]) and head.endswith(b"WEBP")):
        raise IsImageError(f"{path} is an image of {path.stat().st_size} bytes")
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


def image(path: Path, given: dict[str, Any]) -> str:
    """Return the bytes of an image."""
    size = path.stat().st_size
    if size > _IMAGE_BYTES:
        raise ValueError(f"{path} has {size} bytes, and an image of more than {_IMAGE_BYTES} cannot be shown")
    return base64.b64encode(path.read_bytes()).decode()


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
        said, code = {"read": read, "edit": edit, "image": image}[sys.argv[1]](Path(given["path"]), given), 0
    except IsImageError as found:
        said, code = str(found), 3
    except KeyError as error:
        said, code = f"nothing was done: {error} is missing\n", 1
    except (OSError, ValueError, TypeError) as error:
        said, code = f"nothing was done: {error}\n", 1
    sys.stdout.buffer.write(said.encode("utf-8", "replace"))
    return code


if __name__ == "__main__":
    sys.exit(main())
