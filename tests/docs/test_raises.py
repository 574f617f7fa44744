"""Docstrings that say what a function raises name all that its own lines raise."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping

from tests.docs.pages import ROOT
from tests.docs.test_names import sources

_NAMED = re.compile(r"`(?:\w+\.)*(\w+Error)`")
_CLASS = re.compile(r"^ *class (\w+)\(([^()]*)\):", re.MULTILINE)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def classes(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the bases of each class."""
    found = (one for text in texts for one in _CLASS.findall(text))
    return {name: [base.strip().rpartition(".")[2] for base in above.split(",")] for name, above in found}


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _kinds(name: str, bases: Mapping[str, list[str]]) -> set[str]:
    builtin = getattr(builtins, name, None)
    above = [one.__name__ for one in builtin.__mro__] if isinstance(builtin, type) else []
    return {name, *above}.union(*(_kinds(base, bases) for base in bases.get(name, ())))


def raised(node: ast.AST, caught: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the errors that a function's own lines raise, each with what is caught around it; "*": anything."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _INNER):
            continue
        if (
            isinstance(child, ast.Raise)
            and isinstance(child.exc, ast.Call)
            and _last(child.exc.func).isidentifier()
        ):
            yield _last(child.exc.func), caught
        if not isinstance(child, ast.Try):
            yield from raised(child, caught)
            continue
        for part in child.body:
            yield from raised(ast.Module([part], []), caught | set(_handled(child)))
        for rest in (*child.handlers, *child.orelse, *child.finalbody):
            yield from raised(ast.Module([rest], []) if isinstance(rest, ast.stmt) else rest, caught)


def _handled(attempt: ast.Try) -> Iterator[str]:
    for handler in attempt.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        yield from ("*" if kind is None or isinstance(kind, ast.Starred) else _last(kind) for kind in kinds)


def unsaid(module: ast.Module, bases: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield functions whose docstring names some errors, with those that they raise besides."""
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        said = ast.get_docstring(node) or ""
        named = set(_NAMED.findall(said)) if re.search(r"\b[Rr]aises\b", said) else set()
        further = {
            error
            for error, caught in (raised(node) if named else ())
            if error.endswith("Error") and not (_kinds(error, bases) & (named | caught) or "*" in caught)
        }
        yield from (f"{node.lineno}: {node.name} raises {error}" for error in sorted(further))


def test_who_says_what_is_raised_says_it_all() -> None:
    """Whoever handles what a docstring names is not surprised by another error of the same lines."""
    texts = {path: path.read_text(encoding="utf-8") for path in sources()}
    bases = classes(texts.values())
    found = [
        f"{path.relative_to(ROOT)}:{one}"
        for path, text in texts.items()
        if "aises `" in text
        for one in unsaid(ast.parse(text), bases)
    ]
    assert not found, "\n".join(found)


def test_what_is_not_said_is_found() -> None:
    """An error besides the named one is; one that is a kind of it, caught, or of an inner function is not."""
    text = '''
class NarrowError(UsageError): ...
def wide():
    """Do it. Raises `UsageError`."""
    raise ValueError("no")
def narrow():
    """Do it. Raises `UsageError`."""
    raise NarrowError("no")
def caught():
    """Do it. Raises `OSError`."""
    try:
        raise ValueError("no")
    except (KeyError, ValueError) as error:
        raise FileNotFoundError("no") from error
def outer():
    """Do it. Raises `KeyError`."""
    def inner():
        raise ValueError("no")
'''
    assert list(unsaid(ast.parse(text), classes([text]))) == ["3: wide raises ValueError"]
