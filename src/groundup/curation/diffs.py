"""Writing unified diffs of files, byte for byte: what `suites.dibench.patches` reads and applies.

Only line feeds end lines, as diffs count them; carriage returns stay in the lines that have them.
"""

import difflib
import re
from collections.abc import Iterator

_NO_END = b"\n\\ No newline at end of file\n"


def file_diff(path: str, old: bytes, new: bytes) -> bytes:
    """Return the unified diff that turns *old* into *new*, both files at *path*; empty when they are the same."""
    return b"".join(_lines_of(path, old, new)) if old != new else b""


def _lines_of(path: str, old: bytes, new: bytes) -> Iterator[bytes]:
    name = path.encode()
    changes = difflib.diff_bytes(
        difflib.unified_diff, _split(old), _split(new), b"a/" + name, b"b/" + name, lineterm=b"\n"
    )
    for line in changes:
        yield line if line.endswith(b"\n") else line + _NO_END


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)
