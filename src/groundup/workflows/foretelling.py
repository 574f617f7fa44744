"""Matrices that other jobs make while a workflow runs, where their values can be foretold.

Foretold are constants, what a needed job's script writes as it stands or reads from a file, and the versions of
Python that the package says it supports. Everything else stays unknown, and a leg must be named.
"""

import json
import re
import shlex
from collections.abc import Iterator

from pydantic import JsonValue

from groundup.workflows.expressions import UNKNOWN, Contexts
from groundup.workflows.shell import pieces
from groundup.workflows.tree import RepositoryTree, text_of
from groundup.workflows.workflow import Job, Matrix, Step, Workflow, WorkflowError, matrix_of

_CLASSIFIED = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_BY_CLASSIFIERS = "supported_python_classifiers_json_array"
"""The output of `build-and-inspect-python-package` that many a matrix is made of."""
_OUTPUT = re.compile(r"needs\.([\w-]+)\.outputs\.([\w-]+)")
_HAS_DEFAULT = re.compile(r"\s*\|\|")
"""Follows an output which may be empty; where nobody knows it, the default is as good a leg as any."""
_OF_STEP = re.compile(r"\$\{\{\s*steps\.([\w-]+)\.outputs\.([\w-]+)\s*\}\}")
_TO_OUTPUT = re.compile(r""">>\s*["']?\$\{?GITHUB_OUTPUT\}?["']?\s*$""")
_OF_FILE = re.compile(r"""\$\((?:cat|jq\s+-\w*c\w*\s+['"]?\.['"]?)\s+<?\s*([\w./-]+)\)""")
"""A file's content as it stands, or as `jq` writes it on one line."""


def with_known_values(workflow: Workflow, job: Job, tree: RepositoryTree) -> Matrix:
    """Return the matrix of *job* with the values that other jobs make, where they can be foretold."""
    matrix = job.matrix
    found: dict[str, tuple[JsonValue, ...]] = {}
    for key, expression in matrix.expressions.items():
        value = _foretold(expression, workflow, tree)
        if key == "matrix" and isinstance(value, dict) and value:
            return matrix_of(value)
        if key != "matrix" and isinstance(value, list) and value:
            found[key] = tuple(value)
    rows = {
        key: tuple(row for row in found.get(key, ()) if isinstance(row, dict)) for key in ("include", "exclude")
    }
    return matrix.but(
        axes={**matrix.axes, **{key: values for key, values in found.items() if key not in rows}},
        include=(*matrix.include, *rows["include"]),
        exclude=(*matrix.exclude, *rows["exclude"]),
        dynamic=tuple(key for key in matrix.dynamic if key not in found),
    )


def _foretold(expression: str, workflow: Workflow, tree: RepositoryTree) -> JsonValue:
    """Return the value of an expression; None where only a running workflow knows it."""
    inner = re.fullmatch(r"\s*\$\{\{(.*)\}\}\s*", expression, re.DOTALL)
    if inner is None:
        return None
    if _BY_CLASSIFIERS in expression:
        return list(_supported_pythons(tree))
    text = inner[1]
    for match in _OUTPUT.finditer(inner[1]):
        written = _written(workflow, match[1], match[2], tree)
        if written is None and not _HAS_DEFAULT.match(inner[1], match.end()):
            return None
        text = text.replace(match[0], "'" + (written or "").replace("'", "''") + "'")
    value = Contexts({}).value(text)
    return None if value is UNKNOWN else value


def _written(workflow: Workflow, name: str, output: str, tree: RepositoryTree) -> str | None:
    """Return what the job *name* gives out as *output*, where a script of it says so."""
    try:
        job = workflow.job(name)
    except WorkflowError:
        return None
    declared = job.outputs.get(output, "")
    if "${{" not in declared:
        return declared or None
    of_step = _OF_STEP.fullmatch(declared.strip())
    step = next((one for one in job.steps if of_step and one.id == of_step[1]), None)
    texts = [] if step is None or of_step is None else list(_outputs_of(step, of_step[2], tree))
    return texts[-1] if texts else None  # an `else` comes last: what holds where nothing is special


def _outputs_of(step: Step, name: str, tree: RepositoryTree) -> Iterator[str]:
    """Yield each text that a script writes as the output *name*, without those that it computes."""
    for piece in pieces(step.run or ""):
        if not _TO_OUTPUT.search(piece.text):
            continue
        try:
            words = shlex.split(_TO_OUTPUT.sub("", _with_files(piece.text, tree)))
        except ValueError:
            continue
        text = words[-1] if len(words) > 1 and words[0] in ("echo", "printf") else ""
        key, equals, value = text.removesuffix("\\n").partition("=")
        if equals and key == name and not re.search(r"\$|`", value):
            yield value


def _with_files(text: str, tree: RepositoryTree) -> str:
    """Return a command with what it reads from JSON files of the repository, quoted."""

    def content(match: re.Match[str]) -> str:
        try:
            return json.dumps(json.loads(text_of(tree, match[1].removeprefix("./")) or "")).replace('"', '\\"')
        except (ValueError, RecursionError):
            return match[0]

    return _OF_FILE.sub(content, text)


def _supported_pythons(tree: RepositoryTree) -> tuple[str, ...]:
    texts = (text_of(tree, path) or "" for path in ("pyproject.toml", "setup.cfg", "setup.py"))
    return tuple(dict.fromkeys(version for text in texts for version in _CLASSIFIED.findall(text)))
