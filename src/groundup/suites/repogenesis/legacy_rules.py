"""What the scripts before the harness compute from what they see, faults included. Pure.

Counts are the first of each kind in pytest's output, errors count nowhere, and a service that died is deployed
when its output holds a word that services print when they start. In Java, Surefire's reports are summed up,
also those that the submission wrote; without any, the lines that Maven prints.

Endpoints are looked for by substrings: an endpoint counts as soon as one file holds any of its path's parts longer
than three characters. The share of a whole set is that of all its endpoints, not the mean of its repositories.

Files, lines and tokens are counted as published. Functions, classes and complexity are counted by syntax tree;
complexity is the sum over functions of one plus their decisions.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field
from tree_sitter import Node

from groundup.domain.names import number_of
from groundup.domain.records import Record
from groundup.grading.last_words import last_words
from groundup.grammars import Grammar, captures, parse, text_of
from groundup.languages import LANGUAGES
from groundup.suites.repogenesis.official_rules import FEATURE, SOURCE_SUFFIXES, Extracted, source_texts
from groundup.trees.walking import is_file_inside

TIMEOUT = "TIMEOUT"
"""What stands for the output of tests that were ended."""
_PASSED = re.compile(r"(\d+) passed")
_FAILED = re.compile(r"(\d+) failed")
_TOTAL = re.compile(r"TOTAL\s+\d+\s+\d+\s+(\d+)%")
_SUREFIRE = re.compile(r"Tests run: (\d{1,8}), Failures: (\d{1,8}), Errors: (\d{1,8}), Skipped: (\d{1,8})")
_STARTED = {
    "python": (
        "Running on",
        "Started",
        "Uvicorn running",
        "Application startup complete",
        "Listening on",
        "Accepting connections",
    ),
    "java": (
        "Started",
        "Javalin started",
        "Server started",
        "Application started",
        "Listening on",
        "Tomcat started",
    ),
}
_OCCUPIED = ("Address already in use", "Port already in use")
_DEPTH = 6
CONFIGURATIONS = ("requirements.txt", "setup.py", "pyproject.toml")
"""Where the scripts look, in this order, for what is to be installed; without any, nothing is deployed."""

SUCCESS = "Server started successfully"
CONFLICT = "Server deployable (port conflict)"
UNKNOWN = "Unknown or missing build config"
NO_SCRIPT = "start.sh not found (recursive)"
NOT_INSTALLED = "Pip install failed"
HANGING = "start.sh ended and what it left running keeps its output open: the script would wait for ever"
INSTALL_TIMEOUT = "Pip install timeout (>{:.0f}s)"
NOT_BUILT = "Maven build failed"
BUILD_TIMEOUT = "Maven build timeout (>{:.0f}s)"


class LegacyCounts(Record):
    """What the output of tests says, as it is read."""

    passed: int = 0
    failed: int = 0
    skipped: int = Field(default=0, description="in Java; what pytest skips counts nowhere")
    coverage: float | None = Field(default=0.0, description="in percent; None: not measured")

    @property
    def reported(self) -> int:
        """The tests that were reported; of pytest's, errors and skips are left out."""
        return self.passed + self.failed + self.skipped


class Started(Record):
    """Whether a service was deployed, and the message about that."""

    success: bool
    message: str
    said: str = ""
    """Its last words, for people."""


def read_output(output: str) -> LegacyCounts:
    """Return counts and test coverage in percent."""
    passed, failed, total = (pattern.search(output) for pattern in (_PASSED, _FAILED, _TOTAL))
    return LegacyCounts(
        passed=number_of(passed[1]) if passed else 0,
        failed=number_of(failed[1]) if failed else 0,
        coverage=float(number_of(total[1])) if total else 0.0,
    )


def read_java_tests(reports: Iterable[tuple[int, int, int, int]] | None, output: str) -> LegacyCounts:
    """Return the sums of *reports* (tests, failures, errors, skips), or without any those of Maven's lines.

    Each class has a line and all together have one, so everything in lines counts twice.
    """
    every = list(reports) if reports is not None else [_four(match) for match in _SUREFIRE.finditer(output)]
    run = sum(one[0] for one in every)
    failed = sum(one[1] + one[2] for one in every)
    skipped = sum(one[3] for one in every)
    return LegacyCounts(passed=max(run - failed - skipped, 0), failed=failed, skipped=skipped, coverage=None)


def _four(match: re.Match[str]) -> tuple[int, int, int, int]:
    return int(match[1]), int(match[2]), int(match[3]), int(match[4])


def read_start(exit_code: int | None, output: str, language: Literal["python", "java"] = "python") -> Started:
    """Return whether a service is deployed whose script ended so, or lived on (None)."""
    if exit_code is None or any(word in output for word in _STARTED[language]):
        return Started(success=True, message=SUCCESS)
    if any(word in output for word in _OCCUPIED):
        return Started(success=True, message=CONFLICT)
    said = last_words(output.encode(errors="replace"))
    return Started(success=False, message=f"Server exited with code {exit_code}", said=said)


def find_file(tree: Path, name: str) -> Path | None:
    """Return the file of this name at the root, or else somewhere below: the shallowest, then the first by name.

    The scripts take what the file system names first.
    """
    if (tree / name).exists():
        return tree / name
    found = (path for path in files_named(tree, name) if len(path.relative_to(tree).parts) <= _DEPTH)
    return next(found, None)


def files_named(tree: Path, name: str) -> list[Path]:
    """Return all files of this name, the shallowest first."""
    return sorted(
        (path for path in tree.rglob(name) if is_file_inside(path, tree)),
        key=lambda path: (len(path.parts), str(path)),
    )


_METHODS = "GET|POST|PUT|DELETE|PATCH"
_LINE = re.compile(rf"({_METHODS})\s+(/[^\s\-]+)\s*[-:]?\s*(.+?)(?:\n|$)", re.IGNORECASE)
_ROW = re.compile(rf"\|\s*({_METHODS})\s*\|\s*([^\|]+?)\s*\|", re.IGNORECASE)
_BLOCK = re.compile(r"```[\w]*\n(.*?)```", re.DOTALL)
_FEATURE = re.compile(
    r"[-*]\s+([A-Z][A-Za-z\s]+(?:Check|Login|Register|Create|Update|Delete|Get|List|Manage|Service|API))",
    re.MULTILINE,
)
_SUFFIXES = tuple(SOURCE_SUFFIXES)
_EXCLUDED = frozenset(
    {".git", "__pycache__", "node_modules", "venv", ".venv", "target", "build", "test", "tests", ".pytest_cache"}
)


class LegacyCoverage(Record):
    """How many endpoints were extracted, and how many found."""

    total: int
    implemented: int


def legacy_coverage(readme: str, submission: Path, *, features: bool = False) -> LegacyCoverage:
    """Return the figures of *submission*.

    The scripts read the submission's own README, and the task's only without one. *features*: as the first of the
    three scripts, which takes an entry of a list where there are no endpoints; those behind the published tables
    do not.
    """
    extracted = extract(readme, features=features)
    waiting = list(extracted)
    for text in source_texts(submission, _EXCLUDED, lambda name: name.endswith(_SUFFIXES)):
        waiting = [one for one in waiting if not _is_found(one, text)]
    return LegacyCoverage(total=len(extracted), implemented=len(extracted) - len(waiting))


def extract(readme: str, *, features: bool = False) -> tuple[Extracted, ...]:
    """Return what the scripts take for endpoints; paths keep the backtick that closes them."""
    found = dict.fromkeys(_lines(readme))
    for match in _ROW.finditer(readme):
        path = match.group(2).strip()
        if path.startswith(("/", "`/")):
            found[Extracted(method=match.group(1).upper(), path=path.strip("`").strip())] = None
    for block in _BLOCK.findall(readme):
        found.update(dict.fromkeys(_lines(block)))
    if features and not found:
        entry = _FEATURE.search(readme)  # only the first: with it, there is one
        if entry:
            found[Extracted(method=FEATURE, path=entry.group(1).strip())] = None
    return tuple(found)


def _lines(text: str) -> Iterator[Extracted]:
    for match in _LINE.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip())


def _is_found(endpoint: Extracted, text: str) -> bool:
    if endpoint.method == FEATURE:
        lower = endpoint.path.lower()
        return lower.replace(" ", "_") in text or lower.replace(" ", "") in text
    parts = [part for part in re.sub(r"[{}<>:]", "", endpoint.path).split("/") if part]
    if any(len(part) > 3 and part in text for part in parts):
        return True
    return endpoint.path in text and any(sign in text for sign in (*parts, *_signs(endpoint.method)))


def _signs(method: str) -> Iterator[str]:
    yield from (f"@{owner}.{method.lower()}" for owner in ("app", "router", "bp"))
    yield from (f"{owner}.{method.lower()}" for owner in ("app", "router"))
    yield from (f'methods=["{method}"', f"methods=['{method}'", f"@{method.title()}Mapping")


Language = Literal["python", "java"]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LARGEST = 4_000_000

_COUNTED: dict[Language, dict[str, str]] = {
    "python": {
        "functions": "(function_definition) @found",
        "classes": "(class_definition) @found",
        "decisions": "[(if_statement) (elif_clause) (for_statement) (while_statement) (except_clause) "
        "(conditional_expression) (boolean_operator) (case_clause) (if_clause) (for_in_clause) "
        "(assert_statement)] @found",
    },
    "java": {
        "functions": "[(method_declaration) (constructor_declaration)] @found",
        "classes": "[(class_declaration) (interface_declaration) (record_declaration) (enum_declaration)] @found",
        "decisions": "[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) "
        "(catch_clause) (ternary_expression) (switch_label)] @found",
    },
}
_JAVA_JUNCTIONS = re.compile(r"&&|\|\|")
_NEWER_JAVA = "[(record_declaration) (switch_rule) (instanceof_expression pattern: (_)) (yield_statement)] @found"


class CodeMetrics(Record):
    """What a repository holds in one language."""

    files: int = 0
    loc: int = 0
    tokens: int = 0
    functions: int = 0
    classes: int = 0
    complexity: int = 0


def code_metrics(root: Path, language: Language) -> CodeMetrics:
    """Count all files of *language* below *root*, tests and copied dependencies included, as published."""
    files = loc = tokens = functions = classes = complexity = 0
    for path in _files(root, LANGUAGES[language].suffixes[0]):
        files += 1
        text = _text(path)
        loc += len(text.splitlines())
        tokens += len(_TOKEN.findall(text))
        found = _syntax(language, text)
        functions += found["functions"]
        classes += found["classes"]
        complexity += found["functions"] + found["decisions"]
    return CodeMetrics(
        files=files, loc=loc, tokens=tokens, functions=functions, classes=classes, complexity=complexity
    )


def count_tests(folder: Path, language: Language) -> int:
    """Return how many tests the scripts find by reading: the denominator where fewer are reported."""
    counted = _python_tests if language == "python" else _java_tests
    paths = _files(folder, LANGUAGES[language].suffixes[0])
    return sum(counted(path.name, _text(path)) for path in paths)


def legacy_denominator(parsed: int, reported: int) -> int:
    """Return the larger of the tests found by reading and those reported."""
    return max(parsed, reported)


def _syntax(language: Language, text: str) -> dict[str, int]:
    grammar: Grammar = language
    root = parse(grammar, text.encode("utf-8", "replace")).root_node
    counts = {what: len(captures(grammar, query, root)) for what, query in _COUNTED[language].items()}
    if language == "java":
        operators = captures("java", "(binary_expression operator: _ @found)", root)
        counts["decisions"] += sum(_JAVA_JUNCTIONS.fullmatch(text_of(node)) is not None for _, node in operators)
    return counts


def _python_tests(name: str, text: str) -> int:
    """Count `def test_...` in a file that parses, whether pytest collects it or not; coroutines are left out."""
    if not (name.startswith("test_") or name.endswith("_test.py")):
        return 0
    root = parse("python", text.encode("utf-8", "replace")).root_node
    if root.has_error:
        return 0
    functions = (node for _, node in captures("python", "(function_definition) @found", root))
    return sum(_name(node).startswith("test_") and node.children[0].type != "async" for node in functions)


def _java_tests(_: str, text: str) -> int:
    """Count test methods; where the scripts' parser gives up, every `@Test`, also that of `@TestMethodOrder`."""
    root = parse("java", text.encode("utf-8", "replace")).root_node
    blocks = any(text_of(node).startswith('"""') for _, node in captures("java", "(string_literal) @found", root))
    if root.has_error or blocks or captures("java", _NEWER_JAVA, root):
        return text.count("@Test") or len(re.findall(r"public\s+void\s+test\w+", text))
    classes = (node for _, node in captures("java", "[(class_declaration) (interface_declaration)] @found", root))
    return sum(_is_java_test(method, holder) for holder in classes for method in _methods(holder))


def _is_java_test(method: Node, holder: Node) -> bool:
    names = _annotations(method)
    if any(name == "Test" or "ParameterizedTest" in name for name in names):
        return True
    above = holder.child_by_field_name("superclass")
    in_test_class = _name(holder).endswith("Test") or (above is not None and "TestCase" in text_of(above))
    return _name(method).startswith("test") and in_test_class and holder.type == "class_declaration"


def _annotations(declaration: Node) -> list[str]:
    """Return the simple names of the annotations on a declaration."""
    modifiers = (child for child in declaration.children if child.type == "modifiers")
    marks = (node for one in modifiers for node in one.named_children)
    return [_name(one).rpartition(".")[2] for one in marks if one.type in ("annotation", "marker_annotation")]


def _methods(holder: Node) -> Iterator[Node]:
    body = holder.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        if child.type == "method_declaration":
            yield child


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def _files(root: Path, suffix: str) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if name.endswith(suffix) and path.is_file() and not path.is_symlink():
                yield path


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="ignore") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""
