"""The literals of a test function that only say what is expected: where they stand, under which names. Pure."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundup.grading.library.variables import Function

_BUILDERS = {"set": set, "frozenset": frozenset, "list": list, "tuple": tuple, "dict": dict}


@dataclass(frozen=True)
class Column:
    """All literals that one name stands for."""

    nodes: tuple[ast.expr, ...]


def is_literal(node: ast.expr) -> bool:
    """Whether *node* is a value that its text alone gives."""
    match node:
        case ast.Constant():
            return node.value is not Ellipsis
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_literal(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(is_literal, parts))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_literal(key) for key in keys) and all(map(is_literal, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) and _is_text(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name in _BUILDERS and len(args) <= 1 and all(map(is_literal, args))
    return False


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _is_text(node.left) and _is_text(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def literal_value(node: ast.expr) -> object:
    """Return the value of a literal. Raises `ValueError` or `TypeError` for one that Python refuses."""
    match node:
        case ast.BinOp(left=left, right=right):
            return literal_value(left) + literal_value(right)  # type: ignore[operator]
        case ast.Call(func=ast.Name(id=name), args=args):
            return _BUILDERS[name](*map(literal_value, args))
    return ast.literal_eval(node)


def loaded(function: Function) -> list[ast.Name]:
    """Return where the function reads names."""
    return [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def columns(function: Function) -> Mapping[str, tuple[Column, ...]]:
    """Return the names that stand for literals only: parameters and loop variables of tables, names set once."""
    stored = [
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ]
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    found: dict[str, tuple[Column, ...]] = {}
    for name, nodes in (*_parameters(function), *_variables(function)):
        once = stored.count(name) == (0 if name in given else 1)
        if once and name not in found and nodes and all(map(is_literal, nodes)):
            found[name] = (Column(tuple(nodes)),)
    return found


def _parameters(function: Function) -> Iterator[tuple[str, list[ast.expr]]]:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, ast.List() | ast.Tuple() as rows]):
                yield from _table(_names(names), rows.elts)
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names, ast.List() | ast.Tuple() as rows],
                keywords=[ast.keyword(arg="ids")],
            ):
                yield from _table(_names(names), rows.elts)


def _names(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str() as text):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            return [text for text in texts if isinstance(text, str)]
    return []


def _variables(function: Function) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, [value]
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.List() | ast.Tuple() as rows):
                yield from _table([one.id if isinstance(one, ast.Name) else "" for one in targets], rows.elts)


def _table(names: Sequence[str], rows: Sequence[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield each name with its value in every row; nothing where a row cannot be read."""
    taken: list[Sequence[ast.expr]] = []
    for row in rows:
        match row:
            case ast.Call(func=ast.Attribute(attr="param"), args=args):
                taken.append(args)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(names) > 1:
                taken.append(parts)
            case _ if len(names) == 1:
                taken.append([row])
            case _:
                return
    if all(len(row) == len(names) for row in taken):
        for number, name in enumerate(names):
            if name:
                yield name, [row[number] for row in taken]
