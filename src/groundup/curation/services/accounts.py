"""Accounts for HTTP Basic authentication that a repository writes down: in its README, or in its sources."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from groundup.curation.services.starting import python_files
from groundup.trees.walking import read_regular

Account = tuple[str, str]
_CURL = re.compile(r"(?:-u|--user|-a)[ =]['\"]?([\w.@-]+):([^\s'\"]+)")
_TABLES = re.compile(r"users?|accounts?|credentials|passwords?", re.IGNORECASE)
_CHECKS = re.compile(r"(?:get|verify)_password")


def written_accounts(root: Path) -> tuple[Account, ...]:
    """Return names with their passwords, those of the README first."""
    found: list[Account] = []
    for path in sorted(root.glob("README*")):
        if path.is_file() and not path.is_symlink():
            found += _CURL.findall(read_regular(path).decode("utf-8", "replace"))
    for _, text in python_files(root):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _TABLES.fullmatch(ast.unparse(node.targets[0])):
                found += _of_table(node.value)
            elif isinstance(node, ast.FunctionDef) and any(
                _CHECKS.search(ast.unparse(one)) for one in node.decorator_list
            ):
                found += _of_check(node)
    return tuple(dict.fromkeys(found))


def _of_table(node: ast.expr) -> Iterator[Account]:
    """Yield the pairs of `{"ann": "secret", "bob": generate_password_hash("hidden")}`."""
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
        pair = [one.value for one in (key, inner) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if len(pair) == 2:
            yield pair[0], pair[1]


def _of_check(function: ast.FunctionDef) -> Iterator[Account]:
    """Yield the pair of `if name == "ann": return "secret"`, and of `name == "ann" and password == "secret"`."""
    said = [
        node.value
        for one in ast.walk(function)
        if isinstance(one, ast.Compare | ast.Return)
        for node in ast.walk(one)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    ]
    kept = list(dict.fromkeys(said))
    if len(kept) == 2:
        yield kept[0], kept[1]
