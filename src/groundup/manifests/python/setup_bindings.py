"""What the names of a setup.py are bound to, and the small questions asked of its expressions."""

import re
from dataclasses import dataclass, field

import libcst as cst
from libcst import matchers as m

_FILES = (".txt", ".in", ".pip", ".toml", ".cfg", ".yml", ".yaml", ".json", ".lock")


@dataclass
class Bindings:
    """What names are bound to anywhere in a file, whatever the scope."""

    values: dict[str, list[cst.BaseExpression]] = field(default_factory=dict)
    appended: dict[str, list[cst.Call]] = field(default_factory=dict)
    keyed: dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]] = field(default_factory=dict)
    functions: dict[str, list[cst.BaseExpression]] = field(default_factory=dict)
    bodies: dict[str, cst.FunctionDef] = field(default_factory=dict)
    calls: list[cst.Call] = field(default_factory=list)


class _Binder(cst.CSTVisitor):
    """Collects what names are bound to anywhere in the file, whatever the scope."""

    def __init__(self) -> None:
        self.found = Bindings()
        self._functions: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802 - libcst names it
        self._functions.append(node.name.value)
        self.found.functions.setdefault(node.name.value, [])
        self.found.bodies[node.name.value] = node

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802 - libcst names it
        self._functions.pop()

    def visit_Return(self, node: cst.Return) -> None:  # noqa: N802 - libcst names it
        if self._functions and node.value is not None:
            self.found.functions[self._functions[-1]].append(node.value)

    def visit_Assign(self, node: cst.Assign) -> None:  # noqa: N802 - libcst names it
        for target in node.targets:
            self._bind(target.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:  # noqa: N802 - libcst names it
        if node.value is not None:
            self._bind(node.target, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:  # noqa: N802 - libcst names it
        self._bind(node.target, node.value)

    def visit_WithItem(self, node: cst.WithItem) -> None:  # noqa: N802 - libcst names it
        if node.asname is not None and isinstance(node.asname.name, cst.Name):
            self._bind(node.asname.name, node.item)

    def visit_For(self, node: cst.For) -> None:  # noqa: N802 - libcst names it
        self._bind(node.target, node.iter)

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802 - libcst names it
        self.found.calls.append(node)
        method = called(node)
        if not isinstance(node.func, cst.Attribute) or not node.args:
            return
        owner = node.func.value
        if isinstance(owner, cst.Name) and method in ("append", "insert", "add"):
            self.found.appended.setdefault(owner.value, []).append(node)
        elif method in ("extend", "update"):
            self._bind(owner, node.args[-1].value)

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, cst.Name):
            self.found.values.setdefault(target.value, []).append(value)
        elif isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            index = target.slice[0].slice
            if isinstance(index, cst.Index):
                self.found.keyed.setdefault(target.value.value, []).append((index.value, value))


def bind(module: cst.Module) -> Bindings:
    """Return what the names of *module* are bound to."""
    binder = _Binder()
    module.visit(binder)
    return binder.found


def alternatives(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions whose values together, or one of which, are the value of *node*."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.BitOr):
        return [node.left, node.right]
    if isinstance(node, cst.BooleanOperation):
        return [node.left, node.right]
    if isinstance(node, cst.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp) and not files_in(node):
        return [node.for_in.iter]
    return []


def called(node: cst.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value
    return node.func.value if isinstance(node.func, cst.Name) else ""


def literal(node: cst.BaseExpression) -> str | None:
    """Return the text of a string literal, joined ones included; None for everything else."""
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def files_in(node: cst.CSTNode) -> list[str]:
    """Return the files of requirements that the literals of an expression name, with the folders before them.

    `{…}` stands for what a formatted string computes.
    """
    files: list[str] = []
    folders: list[str] = []
    for found in m.findall(node, m.SimpleString() | m.FormattedString()):
        text = formatted(found) if isinstance(found, cst.BaseExpression) else None
        if text is None or any(char in text for char in "<>=\n; "):
            continue
        if text.endswith(_FILES):
            files.append("/".join([*folders, text]))
            folders = []
        elif text.replace("_", "").replace("-", "").isalnum():
            folders.append(text)
    return files


class Mentions:
    """What expressions of one file mention, each looked through once: many ways may lead to one."""

    def __init__(self) -> None:
        self._files: dict[cst.CSTNode, list[str]] = {}
        self._names: dict[cst.CSTNode, list[str]] = {}
        self._literals: dict[cst.CSTNode, bool] = {}

    def files(self, node: cst.CSTNode) -> list[str]:
        """Return `files_in` it."""
        if node not in self._files:
            self._files[node] = files_in(node)
        return self._files[node]

    def names(self, node: cst.CSTNode) -> list[str]:
        """Return the names in it, each once."""
        if node not in self._names:
            found = (one.value for one in m.findall(node, m.Name()) if isinstance(one, cst.Name))
            self._names[node] = list(dict.fromkeys(found))
        return self._names[node]

    def has_literals(self, node: cst.CSTNode) -> bool:
        """Whether there is a string in it."""
        if node not in self._literals:
            self._literals[node] = bool(m.findall(node, m.SimpleString()))
        return self._literals[node]


def formatted(node: cst.BaseExpression) -> str | None:
    """Return the text of a string with `{…}` for what it computes; None for what is no string."""
    if isinstance(node, cst.FormattedString):
        parts = [part.value if isinstance(part, cst.FormattedStringText) else "{…}" for part in node.parts]
        return "".join(parts)
    text = literal(node)
    return None if text is None else re.sub(r"%s|\{\w*\}", "{…}", text)
