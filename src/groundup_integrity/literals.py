"""Another literal in place of one, of the same kind and never equal to it: deterministic by seed."""

import ast
import re
import tokenize
import unicodedata
from collections.abc import Iterator, Sequence
from io import StringIO
from random import Random
from typing import NamedTuple

from groundup.grammars import python_value

_TRIES = 40
_LEAST: dict[str, object] = {"0": 0, "None": None, '""': "", "[]": [], "{}": {}}
_WORD = re.compile(rb"[A-Za-z]{3,}")
_ESCAPED = re.compile(r"\\(?:[0-7]{1,3}|.)", re.DOTALL)
_BYTE_ESCAPE = re.compile(r"\\(?:[\n\r\\'\"abfnrtvx]|[0-3]?[0-7]{1,2}$)")
_ESCAPE = re.compile(rf"{_BYTE_ESCAPE.pattern}|\\[NuU]")
_SPACE = re.compile(rb"[0-9A-Za-z](?= [0-9A-Za-z])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "123456789"
_REWORDED = 0.7
"""How often a text gets other known words, and none that is misspelt."""
_RESTYLED = 0.3
"""How often only the case or the space of a text changes: who calls those equal meets what is false."""
_NEAR = 0.3
"""How often a number becomes the next one or the one before, for the same reason."""
_GIVEN = 0.35
"""How often a number becomes another one of its function: what a test also gives must not be known as true."""
_FEWEST = 2
_NEAR_BELOW = 10_000
"""A tolerance that is relative to a larger number might take its neighbour for it."""
_EXACT = 1e15
"""Whole numbers below this have a fraction that shows all of their digits."""


def leaves(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the literals that a value is made of, in displays, behind a minus, joined by `+`.

    In calls of builtins, too, as far as another literal there surely gives another value.
    """
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
        case ast.Set(elts=parts):
            yield from _distinct(parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (leaf for part in (left, right) for leaf in leaves(part))
        case ast.Call(args=[value], keywords=[]):
            yield from _given(node.func, value)


def _given(function: ast.expr, value: ast.expr) -> Iterator[ast.Constant]:
    """Yield the literals of a call with one argument that decide what comes back."""
    match function, value:
        case ast.Attribute(attr="join", value=ast.Constant(value=str() | bytes())), ast.List() | ast.Tuple():
            yield from leaves(value)
        case ast.Name(id="list" | "tuple"), ast.Constant(value=str()) | ast.List() | ast.Tuple():
            yield from leaves(value)
        case ast.Name(id="list" | "tuple"), ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]):
            numbers = [one for one in bounds if isinstance(one, ast.Constant) and type(one.value) is int]
            values = [one.value for one in numbers if isinstance(one.value, int)]
            # Two empty ranges are the same one.
            if len(numbers) == len(bounds) in (1, 2) and values == sorted({*values}):
                yield numbers[-1]
        case ast.Name(id="set" | "frozenset"), ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            yield from _distinct(parts)


def _distinct(parts: Sequence[ast.expr]) -> Iterator[ast.Constant]:
    """Yield the elements of a set, if each of them is missing where another one takes its place."""
    found = [one for one in parts if isinstance(one, ast.Constant)]
    if len({one.value for one in found}) == len(parts):
        yield from found


def words_in(source: bytes) -> tuple[bytes, ...]:
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


class Vocabulary(NamedTuple):
    """What may stand in a text in place of its own words: that shows less than a misspelt one."""

    words: Sequence[bytes] = ()
    """Of the file."""
    near: Sequence[bytes] = ()
    """Of the texts of the same function."""
    texts: Sequence[bytes] = ()
    """Whole literals of the function and of the file."""
    numbers: Sequence[int] | None = None
    """Whole numbers of the function; None: what is expected may be met by its neighbours."""


_NO_WORDS = Vocabulary()


def other_literal(source: bytes, value: object, random: Random, known: Vocabulary = _NO_WORDS) -> bytes:
    """Return the text of a literal like *source*, whose value is *value*, with another value."""
    match value:
        case bool() | None:
            return str(random.choice([one for one in (True, False) if one is not value])).encode()
        case int():
            return _as_written(source, _plausible_integer(value, random, known.numbers))
        case float():
            return _other_fraction(value, random)
        case complex():
            return f"({value + random.randint(1, 9)!r})".encode()
        case str() | bytes():
            return _other_text(source, value, random, known)
    raise TypeError(f"not a literal that can be changed: {value!r}")


def _plausible_integer(value: int, random: Random, numbers: Sequence[int] | None) -> int:
    """Return another number: at times the next one, or one of *numbers*, which belong to the same function."""
    if numbers is not None:
        if _FEWEST <= value < _NEAR_BELOW and random.random() < _NEAR:
            return value + random.choice((-1, 1))
        others = sorted({one for one in numbers if one not in (value, -value) and one >= _FEWEST})
        if others and value >= _FEWEST and random.random() < _GIVEN:
            return random.choice(others)
    return _other_integer(value, random)


def _other_integer(value: int, random: Random) -> int:
    # A round number stays round: who sees one must not know that it is a true one.
    unit = 1
    while value and value % (10 * unit) == 0:
        unit *= 10
    value //= unit
    # As often less as more, for the same reason.
    if (value > 1 or value == unit == 1) and random.random() < 0.5:
        return unit * random.randint(min(1, unit - 1), value - value // 3 - 1)
    # Farther off for larger numbers: a library that counts one too many must not meet it.
    return unit * (value + abs(value) // 3 + random.randint(1, 9))


def _as_written(source: bytes, number: int) -> bytes:
    """Return *number* in the notation of *source*."""
    kind = source[1:2].lower().decode() if source[:1] == b"0" else ""
    if kind in ("x", "o", "b"):
        digits = f"{number:0{len(source) - 2}{kind}}"
        return source[:2] + (digits.upper() if source[2:].isupper() else digits).encode()
    return (f"{number:_}" if b"_" in source else str(number)).encode()


def _other_fraction(value: float, random: Random) -> bytes:
    if value.is_integer() and abs(value) < _EXACT:
        return repr(float(_other_integer(int(value), random))).encode()
    places = len(repr(value).partition(".")[2])
    if 0.01 < value < 1 and random.random() < 0.5:
        changed = round((value + random.uniform(0.2, 0.8)) % 1, places)
    elif "e" in repr(value):
        changed = float(f"{value * random.randint(2, 9):.3g}")
    else:
        changed = round(value * 1.5 + random.randint(1, 9), places)
    # An infinity is not changed by adding to it, and not-a-number has no literal.
    return repr(changed if changed not in (value, float("inf")) else 1.0).encode()


def _other_text(source: bytes, value: str | bytes, random: Random, known: Vocabulary) -> bytes:
    """Return *source* with a word or a sign changed, so that lines stay; a new text where none can be."""
    if random.random() < _RESTYLED and (restyled := _restyled(source, value, random)):
        return restyled
    if known.words and random.random() < _REWORDED:
        changed = _reworded(source, random, known)
        if _is_another(changed, value):
            return changed
    places = [at for at, byte in enumerate(source) if chr(byte).isascii() and chr(byte).isalnum()]
    for _ in range(_TRIES if places else 0):
        at = random.choice(places)
        changed = source[:at] + _other_sign(source[at : at + 1].decode(), random) + source[at + 1 :]
        if _is_another(changed, value):
            return changed
    text = source.decode("utf-8", "replace")
    for _ in range(_TRIES):
        at = random.randrange(len(text))
        changed = (text[:at] + random.choice([*_akin(text[at]), text[at]]) + text[at + 1 :]).encode(
            "utf-8", "replace"
        )
        if _is_another(changed, value):
            return changed
    word = "".join(random.choices(_LETTERS, k=random.randint(2, 4)))
    return repr(value + word if isinstance(value, str) else value + word.encode()).encode(
        "utf-8", "backslashreplace"
    )


def _restyled(source: bytes, value: str | bytes, random: Random) -> bytes:
    """Return *source* with a word in another case or with another space in it; nothing where it has neither."""
    words = list(_WORD.finditer(source))
    spaces = [found.start() + 1 for found in _SPACE.finditer(source)]
    if spaces and (not words or random.random() < 0.5):
        at = random.choice(spaces)
        changed = source[:at] + random.choice((b"", b"  ")) + source[at + 1 :]
    elif words:
        word = random.choice(words)
        new = word[0].lower() if word[0] != word[0].lower() else random.choice((word[0].upper(), word[0].title()))
        changed = source[: word.start()] + new + source[word.end() :]
    else:
        return b""
    found = _value_of(changed)
    return changed if type(found) is type(value) and found != value else b""


def other_sought(source: bytes, value: str | bytes, random: Random) -> bytes:
    """Return another text that is sought in a longer one, where it must not stand by chance.

    A letter changes. Where there is none, signs are added, for an output that says `40%` may well say `70%`.
    """
    text = source.decode("utf-8", "replace")
    inside = range(min(text.find(quote) for quote in "'\"" if quote in text), len(text))
    letters = [at for at in inside if text[at].isascii() and text[at].isalpha()]
    places = letters or [at for at in inside if text[at].isdigit()] or inside
    for _ in range(_TRIES):
        at = random.choice(places)
        kept, new = (
            (at, _other_sign(text[at], random).decode()) if letters else (at + 1, _more_like(text[at], random))
        )
        changed = (text[:kept] + new + text[at + 1 :]).encode("utf-8", "replace")
        if _is_another(changed, value):
            return changed
    return other_literal(source, value, random)


def _more_like(sign: str, random: Random) -> str:
    """Return a few signs of the same kind, none where there is no other."""
    akin = list(_DIGITS) if sign.isdigit() else _akin(sign)
    return "".join(random.choices(akin, k=random.randint(2, 3))) if akin else ""


def _reworded(source: bytes, random: Random, known: Vocabulary) -> bytes:
    """Return *source* with words that it, its function or its file has: who looks for those finds them."""
    found = list(_WORD.finditer(source))
    way = random.choice(("file", "function", "text", "order"))
    # A text that other tests expect, too, must not be known as true by that; it counts once for its function.
    is_twice = known.texts.count(source) > 2 and random.random() < 0.5
    if (way == "text" or is_twice or not found) and len(found) != 1 and known.texts:
        for whole in random.choices(known.texts, k=_TRIES):
            if min(2, len(_WORD.findall(whole))) == min(2, len(found)) and whole != source:
                return whole
    if not found:
        return source
    place = random.choice(found)
    if way == "order" and len(found) > 1:
        place, other = sorted(random.sample(found, 2), key=lambda one: one.start())
        between = source[place.end() : other.start()]
        new = _in_case_of(place[0], other[0]) + between + _in_case_of(other[0], place[0])
        return source[: place.start()] + new + source[other.end() :]
    new = random.choice(known.near if way != "file" and known.near else known.words)
    return source[: place.start()] + _in_case_of(place[0], new) + source[place.end() :]


def _in_case_of(old: bytes, new: bytes) -> bytes:
    """Return *new* in upper case, in lower case or with a capital, as *old* is."""
    if old.isupper() or old.islower():
        return new.upper() if old.isupper() else new.lower()
    return new.capitalize() if old.istitle() else new


def _other_sign(old: str, random: Random) -> bytes:
    signs = _DIGITS if old.isdigit() else _LETTERS
    new = random.choice([one for one in signs if one != old.lower()])
    return (new.upper() if old.isupper() else new).encode()


def _akin(sign: str) -> list[str]:
    """Return other signs of the same kind, without those that mean something in a literal."""
    near = map(chr, range(max(33, ord(sign) - 6), min(0x10FFFF, ord(sign) + 7)))
    kind = unicodedata.category(sign)
    return [one for one in near if one != sign and one not in "\\'\"" and unicodedata.category(one) == kind]


def _is_another(source: bytes, value: str | bytes) -> bool:
    found = _value_of(source)
    # Texts that differ in case or space only may be the same to what is tested.
    return type(found) is type(value) and found.lower().split() != value.lower().split()


def _value_of(source: bytes) -> object:
    """Return the value of a literal; None where it has none, or Python would warn of it."""
    try:
        text = f"({source.decode()})"
        return None if has_unknown_escape(text) else python_value(text)
    except (ValueError, SyntaxError, tokenize.TokenError):
        return None


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
