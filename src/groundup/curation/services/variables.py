"""Environment variables that a service does not start without, and values for them.

What a repository's sources read and give no default, or one that names a database server. A database is one of
SQLite in a file, so that no server is wanted; a secret is no secret. Other values are those of its example files.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.trees.walking import read_regular

_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "example.env", "env.example", ".env")
_SERVERS = re.compile(r"^(?:postgres\w*|mysql|mariadb|mssql|oracle)(?:\+\w+)?://", re.IGNORECASE)
_DATABASE = re.compile(r"(?:database|db|sqlalchemy\w*|sql)_?(?:url|uri|dsn)$", re.IGNORECASE)
_READERS = {"getenv", "environ.get", "config", "env", "env.str", "decouple_config"}
_VALUES: tuple[tuple[str, str], ...] = (
    (r"algorithm|(?:^|_)alg$", "HS256"),
    (r"expir|minutes|seconds|hours|days|ttl|lifetime", "60"),
    (r"secret|salt|(?:^|_)key$|jwt|pepper", "no-secret-but-of-a-length-that-is-taken"),
    (r"(?:^|_)debug$|testing", "0"),
    (r"(?:^|_)env(?:ironment)?$", "development"),
)
_PLACE = ":////tmp/groundup-service.db"


def variables_of(root: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Return variables with values, for the repository at *root* with the sources *texts* by path."""
    read = {name: default for text in texts.values() for name, default in _read(text)}
    examples = _examples(root)
    is_asynchronous = any("create_async_engine(" in text for text in texts.values())
    database = ("sqlite+aiosqlite" if is_asynchronous else "sqlite") + _PLACE
    if not is_asynchronous:
        database += "?check_same_thread=false"
    found: dict[str, str] = {}
    for name, default in sorted(read.items()):
        value = _value(name, default, examples.get(name), database)
        if value is not None:
            found[name] = value
    return found


def _value(name: str, default: str | None, example: str | None, database: str) -> str | None:
    """Return a value for the variable *name*; None: it stays unset."""
    if default is not None:
        return database if _SERVERS.match(default) else None
    if _DATABASE.search(name):
        return example if example and example.startswith("sqlite") and _is_meant(example) else database
    if example and _is_meant(example) and not _SERVERS.match(example):
        return example
    return next((value for pattern, value in _VALUES if re.search(pattern, name, re.IGNORECASE)), None)


def _is_meant(example: str) -> bool:
    """Whether *example* is a value, and not a place for one."""
    return re.search(r"[<\[{]|^#|\.\.\.|^your|xxx", example, re.IGNORECASE) is None


def _read(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the variables that a source reads, with their defaults; None: it has none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    otherwise = {
        id(one): node for node in ast.walk(tree) if isinstance(node, ast.BoolOp) for one in node.values[:-1]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            name = _text(node.slice)
            if name is not None:
                yield name, None
        elif isinstance(node, ast.Call) and node.args and (name := _text(node.args[0])) is not None:
            called = ast.unparse(node.func).removeprefix("os.")
            if called in _READERS and ("config" not in called or "decouple" in text or "starlette" in text):
                given = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "default")]
                given += otherwise[id(node)].values[-1:] if id(node) in otherwise else []
                yield name, (_text(given[0]) or "something") if given else None
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(one).endswith("Settings") for one in node.bases):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.target.id, None if line.value is None else (_text(line.value) or "something")


def _examples(root: Path) -> dict[str, str]:
    """Return what the example files of *root* set."""
    found: dict[str, str] = {}
    for name in _EXAMPLES:
        path = root / name
        if path.is_file() and not path.is_symlink():
            text = read_regular(path).decode("utf-8", "replace")
            for key, value in re.findall(r"^[ \t]*(?:export )?(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
                found.setdefault(key, value.partition(" #")[0].strip("\"' "))
    return {key: value for key, value in found.items() if value}


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
