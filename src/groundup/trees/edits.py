"""Files changed by named rules, with the digest of the result: pure, from bytes to bytes.

An edit is a list of steps, each a rule's name with its arguments. What comes out is used only if it has the stated
digest, so a rule need not be careful: it needs to be simple.
"""

import ast
import hashlib
from collections.abc import Callable, Mapping, Sequence

from pydantic import Field
from typing_extensions import TypeIs

from groundup.domain.errors import TaskError
from groundup.domain.records import Record

Step = tuple[str, ...]


class FileEdit(Record):
    """How a file becomes another one."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the result")
    steps: tuple[Step, ...] = Field(min_length=1, description="rules with their arguments, in their order")

    def of(self, content: bytes, path: str) -> bytes:
        """Return what *content* of the file *path* becomes. Raises `TaskError` for another digest than stated."""
        try:
            made = applied(content, self.steps)
        except RuleError as error:
            raise TaskError(f"{path}: {error}; mend the recipe") from error
        if (found := sha256_of(made)) != self.sha256:
            raise TaskError(f"{path}: its rules make a file {found[:12]}, not {self.sha256[:12]}; mend the recipe")
        return made


class RuleError(TaskError):
    """A rule cannot be applied to a file: there is nothing to which it applies."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def applied(content: bytes, steps: Sequence[Step]) -> bytes:
    """Return *content* after all *steps*. Raises `RuleError`."""
    for name, *arguments in steps:
        if name in _OF_BYTES:
            content = _OF_BYTES[name](content)
            continue
        rule = _RULES.get(name)
        if rule is None:
            raise RuleError(f"no rule is called {name!r}; there are {', '.join(sorted({*_RULES, *_OF_BYTES}))}")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise RuleError(f"{name}: the file is not UTF-8 (byte {error.start + 1})") from error
        try:
            content = rule(text, *arguments).encode()
        except TypeError as error:
            raise RuleError(f"{name}: takes other arguments than {arguments}") from error
    return content


def crlf(content: bytes) -> bytes:
    """Return *content* with the line ends of Windows, whichever it had."""
    return lf(content).replace(b"\n", b"\r\n")


def lf(content: bytes) -> bytes:
    """Return *content* with the line ends of Unix."""
    return content.replace(b"\r\n", b"\n")


def star_imports(text: str, *packages: str) -> str:
    """Turn each `from PACKAGE import NAMES` of the module's own level into `from PACKAGE import *`, on one line.

    Relative imports stay, and so do those within `try` or `if`. Without *packages* it is every module's.
    """
    lines = text.split("\n")
    for node in reversed(_imports_of(text, packages)):
        lines[node.lineno - 1 : node.end_lineno] = [f"from {node.module} import *"]
    return "\n".join(lines)


def star_imports_noted(text: str, *packages: str) -> str:
    """Do the same, and keep the old imports as comments below the last new one."""
    lines = text.split("\n")
    found = _imports_of(text, packages)
    old = [f"# {line}" for node in found for line in lines[node.lineno - 1 : node.end_lineno]]
    last = found[-1].end_lineno or found[-1].lineno
    lines[last:last] = old
    for node in reversed(found):
        lines[node.lineno - 1 : node.end_lineno] = [f"from {node.module} import *"]
    return "\n".join(lines)


def _imports_of(text: str, packages: Sequence[str]) -> list[ast.ImportFrom]:
    found = [
        node
        for node in _parsed(text).body
        if isinstance(node, ast.ImportFrom) and not node.level and _is_of(node.module or "", packages)
    ]
    if not found:
        raise RuleError(f"no module-level import from {' or '.join(packages) or 'anywhere'}")
    return found


def _is_of(module: str, packages: Sequence[str]) -> bool:
    return not packages or any(module == name or module.startswith(f"{name}.") for name in packages)


def import_into(text: str, line: str, left: str, *functions: str) -> str:
    """Move the import *line* to the first place in each of *functions*, and leave *left* where it was.

    *left* is "line" for an empty line, or "nothing".
    """
    lines = text.split("\n")
    if lines.count(line) != 1:
        raise RuleError(f"{line!r} stands there {lines.count(line)} times")
    wanted = {*functions}
    nodes = [node for node in ast.walk(_parsed(text)) if _is_function(node) and node.name in wanted]
    if len(nodes) < len(wanted):
        raise RuleError(f"not all of {', '.join(functions)} are functions of it")
    for node in sorted(nodes, key=lambda node: -node.lineno):
        first = node.body[0]
        lines.insert(first.lineno - 1, " " * first.col_offset + line)
    at = lines.index(line)
    lines[at : at + 1] = [""] if left == "line" else []
    return "\n".join(lines)


def fill_empty(text: str, below: str, line: str) -> str:
    """Put *line* into the first empty line after the line *below*."""
    lines = text.split("\n")
    if below not in lines:
        raise RuleError(f"no line {below!r}")
    for number in range(lines.index(below) + 1, len(lines)):
        if not lines[number].strip():
            lines[number] = line
            return "\n".join(lines)
    raise RuleError(f"no empty line after {below!r}")


def skip(text: str, test: str, decorator: str = "@pytest.mark.skip") -> str:
    """Put *decorator* into the empty line above the function *test*."""
    lines = text.split("\n")
    node = _definition(text, test)
    at = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 2
    if at < 0 or lines[at].strip():
        raise RuleError(f"no empty line stands above {test}")
    lines[at] = " " * node.col_offset + decorator
    return "\n".join(lines)


def decorate(text: str, function: str, decorator: str) -> str:
    """Put *decorator* in a line of its own above *function*."""
    lines = text.split("\n")
    node = _definition(text, function)
    lines.insert(node.lineno - 1, " " * node.col_offset + decorator)
    return "\n".join(lines)


def without_definition(text: str, name: str) -> str:
    """Take the class or function *name* out, with its decorators and the empty lines above it."""
    lines = text.split("\n")
    node = _definition(text, name)
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    while first and not lines[first - 1].strip():
        first -= 1
    del lines[first : node.end_lineno]
    return "\n".join(lines)


def drop(text: str, start: str) -> str:
    """Take every line out that begins with *start*, blanks before it aside."""
    lines = text.split("\n")
    kept = [line for line in lines if not line.strip().startswith(start)]
    if len(kept) == len(lines):
        raise RuleError(f"no line begins with {start!r}")
    return "\n".join(kept)


def drop_section(text: str, header: str) -> str:
    """Take a section of a TOML or INI file out: from its header to before the next one."""
    lines = text.split("\n")
    if header not in lines:
        raise RuleError(f"no section {header}")
    first = lines.index(header)
    rest = range(first + 1, len(lines))
    after = next((number for number in rest if lines[number].startswith("[")), len(lines))
    return "\n".join([*lines[:first], *lines[after:]])


def comment(text: str, start: str, mark: str = "# ") -> str:
    """Put *mark* before every line that begins with *start*, whose own blanks count."""
    lines = text.split("\n")
    changed = [mark + line if line.startswith(start) else line for line in lines]
    if changed == lines:
        raise RuleError(f"no line begins with {start!r}")
    return "\n".join(changed)


def comment_within(text: str, start: str, mark: str = "# ") -> str:
    """Put *mark* after the blanks of every line that begins with *start* after them."""
    lines = text.split("\n")
    changed = [
        line.replace(start, mark + start, 1) if line.lstrip(" ").startswith(start) else line for line in lines
    ]
    if changed == lines:
        raise RuleError(f"no line begins with {start!r} after blanks")
    return "\n".join(changed)


def replace(text: str, old: str, new: str) -> str:
    """Put *new* in the place of *old*, which stands there once."""
    if not old or text.count(old) != 1:
        raise RuleError(f"{old!r} stands there {text.count(old) if old else 0} times")
    return text.replace(old, new)


def append(text: str, *lines: str) -> str:
    """Put *lines* at the end."""
    if not lines:
        raise RuleError("append: no line is given")
    return "\n".join([*text.splitlines(), *lines, ""])


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise RuleError(f"the file is no Python: {error}") from error


def _is_function(node: ast.AST) -> TypeIs[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _definition(text: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise RuleError(f"nothing in it is called {name}")


_OF_BYTES: Mapping[str, Callable[[bytes], bytes]] = {"crlf": crlf, "lf": lf}
_RULES: Mapping[str, Callable[..., str]] = {
    "append": append,
    "comment": comment,
    "comment-within": comment_within,
    "decorate": decorate,
    "drop": drop,
    "drop-section": drop_section,
    "fill-empty": fill_empty,
    "import-into": import_into,
    "replace": replace,
    "skip": skip,
    "star-imports": star_imports,
    "star-imports-noted": star_imports_noted,
    "without-definition": without_definition,
}
