"""Stubs: submissions that have every name of an original, and no behaviour."""

import ast
from enum import StrEnum
from pathlib import Path

from groundup.grading.library.hidden import source_files
from groundup.grammars import python_tree
from groundup.suites.nl2repobench.recipe import Recipe


class Stub(StrEnum):
    """What its functions do. The value is the name of the control."""

    NOTHING = "stub"
    """They return None."""
    RAISE = "raises"
    """They raise NotImplementedError."""
    ECHO = "echoes"
    """They return their first argument."""


_ECHO = "return args[0] if args else None"
_BODIES = {Stub.NOTHING: "return None", Stub.RAISE: "raise NotImplementedError", Stub.ECHO: _ECHO}


def stub_of(original: Path, recipe: Recipe, kind: Stub = Stub.NOTHING) -> dict[str, str]:
    """Return the files of a stub: the original's modules with their names and without their behaviour."""
    return {
        str(path.relative_to(original)): stubbed(path.read_text(encoding="utf-8", errors="replace"), kind)
        for path in source_files(original, recipe.tests)
    }


def stubbed(code: str, kind: Stub = Stub.NOTHING) -> str:
    """Return *code* with its names only: imports stay, functions do what *kind* says, values are None."""
    try:
        tree = python_tree(code)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    names: dict[str, str] = {}
    imports = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            text = ast.unparse(node)
            imports.append(text if future else f"try:\n    {text}\nexcept Exception:\n    pass")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = f"def {node.name}(*args, **kwargs):\n    {_BODIES[kind]}"
        elif isinstance(node, ast.ClassDef):
            names[node.name] = _class(node, kind)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names.update({t.id: f"{t.id} = None" for t in ast.walk(target) if isinstance(t, ast.Name)})
    exported = names.pop("__all__", None)
    listed = [f"__all__ = {sorted(names)!r}"] if exported and not imports else []
    return "\n".join([*imports, *names.values(), *listed]) + "\n"


def _class(node: ast.ClassDef, kind: Stub) -> str:
    methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    parent = "(Exception)" if node.name.endswith(("Error", "Exception", "Warning")) else ""
    body = [_method(name, kind) for name in dict.fromkeys(methods)]
    return "\n".join([f"class {node.name}{parent}:", *(body or ["    pass"])])


def _method(name: str, kind: Stub) -> str:
    # An instance can be made of all but the stub that raises: `__init__` may return nothing else.
    body = _BODIES[Stub.NOTHING if name == "__init__" and kind is Stub.ECHO else kind]
    return f"    def {name}(self, *args, **kwargs):\n        {body}"
