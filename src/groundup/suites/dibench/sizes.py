"""How large a repository's source is: files, lines, tokens and tests of one language.

Tokens are an approximation that needs no model's vocabulary: a run of letters counts one token for each eight of
them or part of it, a run of digits one for each three, every other printed character one, blanks nothing. Tests
are places where the usual frameworks of a language declare one.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.records import Record
from groundup.manifests.discovery import files_of
from groundup.manifests.records import Language
from groundup.sources.files import LARGEST, SUFFIXES

_PIECES = re.compile(rb"[A-Za-z\x80-\xff]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9\x80-\xff]")
_TESTS: dict[Language, re.Pattern[bytes]] = {
    "python": re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(", re.MULTILINE),
    "rust": re.compile(rb"^[ \t]*#\[(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test)\b", re.MULTILINE),
    "javascript": re.compile(rb"^[ \t]*(?:it|test)(?:\.\w+)*[ \t]*\(", re.MULTILINE),
    "csharp": re.compile(rb"\[[ \t]*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b"),
}


class Size(Record):
    """What was counted."""

    files: int = 0
    lines: int = 0
    tokens: int = 0
    tests: int = 0


def source_size(root: Path, language: Language) -> Size:
    """Count everything in the source files of *language* below *root*."""
    files = lines = tokens = tests = 0
    for data in _sources(root, language):
        files += 1
        lines += _line_count(data)
        tokens += sum(1 for _ in _PIECES.finditer(data))
        tests += sum(1 for _ in _TESTS[language].finditer(data))
    return Size(files=files, lines=lines, tokens=tokens, tests=tests)


def source_lines(root: Path, language: Language) -> int:
    """Count only lines."""
    return sum(_line_count(data) for data in _sources(root, language))


def _sources(root: Path, language: Language) -> Iterator[bytes]:
    for path in files_of(root):
        file = root / path
        if path.lower().endswith(SUFFIXES[language]) and file.stat().st_size <= LARGEST:
            yield file.read_bytes()


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
