"""Files in JSON of a reply: lists of them, texts by path or by folder, calls of tools, changes and patches."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from groundup.agents.answers import blocks
from groundup.agents.collected_files import FoundFiles, looks_like_file
from groundup.agents.patches import is_patch

_CONTENT_KEYS = (
    "content",
    "contents",
    "code",
    "text",
    "body",
    "source",
    "file_text",
    "new_content",
    "file_content",
    "fileContent",
    "data",
)
_PATH_KEYS = ("path", "filename", "file", "name", "file_path", "filepath", "filePath", "file_name")


_BEFORE_KEYS = ("old_str", "old_string", "old_text", "search", "find")
_AFTER_KEYS = ("new_str", "new_string", "new_text", "replace", "replacement")
_LAST_COMMA = re.compile(r"(\"(?:[^\"\\]|\\.)*+\")|,(?=\s*[}\]])", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


def parsed_json(text: str) -> object:
    """Return what the JSON of *text* says, with line ends in texts and last commas; None: it is none."""
    for tried in (text, _LAST_COMMA.sub(r"\1", text)):
        with suppress(ValueError, RecursionError):
            found: object = json.loads(tried, strict=False)
            return found
    return None


def whole_json(text: str, found: FoundFiles) -> None:
    """Take a reply that is JSON, or a JSON object in each line."""
    if text.lstrip()[:1] in ("{", "["):
        lines = text.split("\n")
        with suppress(RecursionError):
            take_json(parsed_json(text) or [parsed_json(line) for line in lines if line.strip()], found)


_MOST_VALUES = 50
"""JSON values that are looked for among words."""
_BEGINS_VALUE = re.compile(r"(?=\{\s*\"|\[\s*[{\"])")


def json_in_words(text: str, found: FoundFiles) -> None:
    """Take files of JSON values between words, or in tags such as those of a tool's call."""
    if next(blocks(text), None) is not None:
        return
    at = 0
    for _number in range(_MOST_VALUES):
        if (begins := _BEGINS_VALUE.search(text, at)) is None:
            return
        at = begins.end() + 1
        with suppress(ValueError, RecursionError):
            value, at = _DECODER.raw_decode(text, begins.end())
            take_json(value, found)


def take_json(document: object, found: FoundFiles) -> None:
    """Take a list of files, an object of texts by path, or either of them under a name such as `files`."""
    if isinstance(document, str) and is_patch(document):
        found.apply(document)
    elif isinstance(document, list):
        for one in document:
            take_json(one, found)
    elif isinstance(document, dict) and not _take_one(document, found):
        for key, value in document.items():
            _take_entry(key, value, found)


def _take_one(document: Mapping[str, object], found: FoundFiles) -> bool:
    """Take an object that is a file, or a change of one; return whether it is."""
    path = _text_of(document, _PATH_KEYS)
    before, after = _text_of(document, _BEFORE_KEYS), _text_of(document, _AFTER_KEYS)
    content = _joined(next((value for key in _CONTENT_KEYS if (value := document.get(key)) is not None), None))
    if path is not None and before is not None and after is not None:
        found.change(path, before, after)
    elif path is not None and content is not None:
        found.add(path, content)
    else:
        return False
    return True


def _text_of(document: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := document.get(key), str)), None)


def _joined(value: object) -> str | None:
    """Return a text, or a list of lines as one."""
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(line.removesuffix("\n") for line in value)
    return value if isinstance(value, str) else None


def _take_entry(key: str, value: object, found: FoundFiles) -> None:
    if looks_like_file(key) and (content := _joined(value)) is not None:
        found.add(key, content)
    elif isinstance(value, dict) and _is_folder(key, value):  # before files: a folder's folder looks like one
        take_json({f"{key}/{name}": inner for name, inner in value.items()}, found)
    elif isinstance(value, dict) and looks_like_file(key):
        take_json({**value, "path": key}, found)
    elif key in ("arguments", "parameters", "input") and isinstance(value, str) and not is_patch(value):
        take_json(parsed_json(value), found)
    else:
        take_json(value, found)


_WRAPPERS = re.compile(
    r"files?|project|response|output|results?|data|documents?|changes|contents?|answer|artifacts", re.IGNORECASE
)


def _is_folder(name: str, holds: Mapping[str, object]) -> bool:
    """Whether an object stands for a folder: texts by the names of files, or such folders."""
    return (
        bool(holds)
        and not _WRAPPERS.fullmatch(name)
        and re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name) is not None
        and all(
            (isinstance(value, str) and "/" not in inner and looks_like_file(inner))
            or (isinstance(value, dict) and _is_folder(inner, value))
            for inner, value in holds.items()
        )
    )
