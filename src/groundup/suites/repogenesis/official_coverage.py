"""API coverage as the published harness computes it, faults included.

It looks for methods and paths in the README by regular expressions, and calls an endpoint implemented when one
file of source holds any sign of the method and any longer part of the path. So comments count, Flask's
`methods=['POST']` and JAX-RS's `@GET` do not, paths end at the first `-` or `:`, and a path at a line's end
swallows the next line.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from groundup.domain.records import Record
from groundup.trees.reading import read_regular

FEATURE = "FEATURE"
"""The method of what is not an endpoint but an entry of a list, looked at where a README has no endpoints."""

_METHODS = "GET|POST|PUT|DELETE|PATCH"
_LINE = re.compile(rf"({_METHODS})\s+(/[^\s\-:]+)\s*[-:]?\s*(.+?)(?:\n|$)", re.IGNORECASE)
_ROW = re.compile(rf"\|\s*({_METHODS})\s*\|\s*`?(/[^|`]+?)`?\s*\|", re.IGNORECASE)
_BLOCK = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_FEATURE_WORDS = (
    "Check|Login|Register|Create|Update|Delete|Search|List|View|"
    "Get|Add|Remove|Edit|Manage|Upload|Download|Send|Receive"
)
_FEATURE = re.compile(rf"[-*]\s+([A-Z][A-Za-z\s]+(?:{_FEATURE_WORDS}))")

SOURCE_SUFFIXES = frozenset({".py", ".java", ".js", ".ts", ".kt"})
_EXCLUDED = frozenset(
    {
        ".git",
        "__pycache__",
        "node_modules",
        "venv",
        ".venv",
        "target",
        "build",
        ".pytest_cache",
        "dist",
        "egg-info",
    }
    | {"test", "tests", ".idea", ".vscode"}
)


class Extracted(Record):
    """What the published extraction takes for an endpoint."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class OfficialCoverage(Record):
    """The published figures of one submission."""

    extracted: tuple[Extracted, ...]
    found: tuple[Extracted, ...]

    @property
    def score(self) -> float:
        """The share of endpoints found, rounded as published; 0 where none was extracted."""
        return round(len(self.found) / len(self.extracted), 4) if self.extracted else 0.0


def official_coverage(readme: str, submission: Path) -> OfficialCoverage:
    """Return what the published harness says of *submission*; links that lead out of it are not followed."""
    extracted = extract(readme)
    waiting = list(extracted)
    for text in source_texts(submission, _EXCLUDED, lambda name: Path(name).suffix in SOURCE_SUFFIXES):
        if not waiting:
            break
        waiting = [one for one in waiting if not _is_found(one, text)]
    return OfficialCoverage(extracted=extracted, found=tuple(one for one in extracted if one not in waiting))


def extract(readme: str) -> tuple[Extracted, ...]:
    """Return the endpoints that the published harness sees in *readme*, or else features."""
    found = dict.fromkeys([*_lines(readme), *_rows(readme)])
    for block in _BLOCK.findall(readme):
        found.update(dict.fromkeys(_lines(block)))
    if not found:
        features = (match.group(1).strip() for match in _FEATURE.finditer(readme))
        found.update((Extracted(method=FEATURE, path=feature), None) for feature in features)
    return tuple(found)


def _lines(text: str) -> Iterator[Extracted]:
    for match in _LINE.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip().rstrip("`").rstrip("*"))


def _rows(text: str) -> Iterator[Extracted]:
    for match in _ROW.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip())


def source_texts(root: Path, excluded: frozenset[str], is_source: Callable[[str], bool]) -> Iterator[str]:
    """Yield the texts of source files below *root*, without what is no UTF-8."""
    whole = root.resolve()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - excluded)
        for name in sorted(names):
            path = Path(folder) / name
            if is_source(name) and path.is_file() and path.resolve().is_relative_to(whole):
                try:
                    yield read_regular(path).decode(errors="ignore")
                except OSError:
                    continue


def _is_found(endpoint: Extracted, text: str) -> bool:
    if endpoint.method == FEATURE:
        return _names_feature(endpoint.path, text)
    parts = (part for part in endpoint.path.strip("/").split("/") if len(part) > 3 and part[0] not in "{<")
    return (endpoint.path in text or any(part in text for part in parts)) and shows_method(endpoint.method, text)


def _names_feature(feature: str, text: str) -> bool:
    snake = re.sub(r"\s+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", feature).lower())
    words = (snake, feature.replace(" ", "").lower(), feature.lower())
    return any(re.search(re.escape(word), text, re.IGNORECASE) for word in words)


def shows_method(method: str, text: str) -> bool:
    """Whether *text* holds any of the published signs of *method*; in time linear in its length."""
    title = method.capitalize()
    plain = rf"\.{method}\s*\(|@{title}Mapping|@{title}\s*\(|@{method}\s*$"
    if re.search(plain, text, re.IGNORECASE):
        return True
    return _follows_on_line(text, r"methods\s*=\s*\[", rf'"{method}"') or _follows_on_line(
        text, "@RequestMapping", rf"method\s*=\s*RequestMethod\.{method}"
    )


def _follows_on_line(text: str, first: str, second: str) -> bool:
    """Whether a match of *second* starts on the line on which one of *first* ended, and behind it.

    That is what `first.*second` finds, which takes quadratic time where *first* stands often on a line.
    """
    ends = [match.end() for match in re.finditer(first, text, re.IGNORECASE)]
    at = 0
    for match in re.finditer(second, text, re.IGNORECASE) if ends else ():
        line = text.rfind("\n", 0, match.start()) + 1
        while at < len(ends) and ends[at] < line:
            at += 1
        if at < len(ends) and ends[at] <= match.start():
            return True
    return False
