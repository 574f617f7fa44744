"""Another literal in place of one, of the same kind and never equal to it: deterministic by seed."""

import ast
import re
import tokenize
from collections.abc import Iterator, Sequence
from io import StringIO
from random import Random

from groundup.grammars import python_value

_TRIES = 40
_RARE_HOLDERS = (b"[", b", None]", b"{0: ", b"}")
"""What is put around a value where it is then beside None, or in a dictionary; a list alone ends with another."""
_LEAST: dict[str, object] = {"0": 0, "None": None, '""': "", "[]": [], "{}": {}}
_WORD = re.compile(rb"[A-Za-z]{3,}")
_ESCAPED = re.compile(r"\\(?:[0-7]{1,3}|.)", re.DOTALL)
_BYTE_ESCAPE = re.compile(r"\\(?:[\n\r\\'\"abfnrtvx]|[0-3]?[0-7]{1,2}$)")
_ESCAPE = re.compile(rf"{_BYTE_ESCAPE.pattern}|\\[NuU]")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def leaves(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the literals that a value is made of, in displays, behind a minus, joined by `+`; never in calls."""
    match node:
        case ast.Constant():
            if node.value is not Ellipsis:
                yield node
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from leaves(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from leaves(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from leaves(part)
        case ast.Set(elts=[part]):
            yield from leaves(part)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (leaf for part in (left, right) for leaf in leaves(part))


def is_telling(old: bytes, new: bytes, words: Sequence[bytes]) -> bool:
    """Say whether a value that equals the literal *new*, in place of *old*, is no likely mistake.

    A text is, when it has a word that is none of the file's *words*: a library may give another test's answer.
    Numbers never are: a library that counts one too many meets many of those that are one higher. Nor is one value
    in a list or tuple of its own, which a library may return by mistake throughout.
    """
    if not old:
        return new in _RARE_HOLDERS
    try:
        values = [python_value((b"(" + text + b")").decode()) for text in (old, new)]
    except (ValueError, SyntaxError):
        return False
    return all(isinstance(value, str | bytes) for value in values) and not set(words) >= set(words_in(new))


def words_in(source: bytes) -> tuple[bytes, ...]:
    """Return the words of a source, each once."""
    return tuple(sorted(set(_WORD.findall(source))))


def is_least(node: ast.expr) -> bool:
    """Say whether a value is the least of its kind: 0, nothing, or empty."""
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=value):
            return not value
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
    return False


def other_least(node: ast.expr, random: Random) -> bytes:
    """Return the least value of another kind than *node*, one of these."""
    value = ast.literal_eval(node)
    return random.choice([text for text, one in _LEAST.items() if one != value]).encode()


def other_literal(source: bytes, value: object, random: Random, words: Sequence[bytes] = ()) -> bytes:
    """Return the text of a literal like *source*, whose value is *value*, with another value.

    *words* may stand in a text in place of its own: that shows less than a misspelt one.
    """
    match value:
        case bool() | None:
            return str(random.choice([one for one in (True, False) if one is not value])).encode()
        case int() | float() | complex():
            return _other_number(value, random)
        case str() | bytes():
            return _other_text(source, value, random, words)
    raise TypeError(f"not a literal that can be changed: {value!r}")


def _other_number(value: complex, random: Random) -> bytes:
    if isinstance(value, int):
        # As often less as more: who sees a small number must not know that it is a true one.
        if value > 0 and random.random() < 0.5:
            return str(random.randint(0, value - value // 3 - 1)).encode()
        # Farther off for larger numbers: a library that counts one too many must not meet it.
        return str(value + abs(value) // 3 + random.randint(1, 9)).encode()
    if isinstance(value, float):
        if 0.01 < value < 1 and random.random() < 0.5:
            return repr(round((value + random.uniform(0.2, 0.8)) % 1, len(repr(value)) - 2)).encode()
        changed = value * 1.5 + random.randint(1, 9)
        # An infinity is not changed by adding to it, and not-a-number has no literal.
        return repr(changed if changed not in (value, float("inf")) else 1.0).encode()
    return f"({value + random.randint(1, 9)!r})".encode()


def _other_text(source: bytes, value: str | bytes, random: Random, words: Sequence[bytes]) -> bytes:
    """Return *source* with a word or a letter changed, so that lines stay; a new text where there is none."""
    found = list(_WORD.finditer(source))
    if found and words and random.random() < 0.5:
        place = random.choice(found)
        changed = source[: place.start()] + random.choice(words) + source[place.end() :]
        if _is_another(changed, value):
            return changed
    places = [at for at, byte in enumerate(source) if chr(byte).isascii() and chr(byte).isalpha()]
    for _ in range(_TRIES if places else 0):
        at = random.choice(places)
        letter = chr(source[at])
        new = random.choice([one for one in _LETTERS if one != letter.lower()])
        changed = source[:at] + (new.upper() if letter.isupper() else new).encode() + source[at + 1 :]
        if _is_another(changed, value):
            return changed
    word = "".join(random.choices(_LETTERS, k=random.randint(2, 4)))
    return repr(value + word if isinstance(value, str) else value + word.encode()).encode(
        "utf-8", "backslashreplace"
    )


def _is_another(source: bytes, value: str | bytes) -> bool:
    try:
        text = f"({source.decode()})"
        found = None if has_unknown_escape(text) else python_value(text)
    except (ValueError, SyntaxError, tokenize.TokenError):
        return False
    # Texts that differ in case or space only may be the same to what is tested.
    return type(found) is type(value) and found.lower().split() != value.lower().split()


def has_unknown_escape(source: str) -> bool:
    """Whether Python would warn of *source*, which would be seen in the tests' output.

    Python itself cannot be asked: how it warns is a matter of all threads of a process.
    """
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.STRING:
            prefix = token.string.partition("'")[0].partition('"')[0].lower()
            known = _BYTE_ESCAPE if "b" in prefix else _ESCAPE
            if "r" not in prefix and any(not known.match(one) for one in _ESCAPED.findall(token.string)):
                return True
    return False
