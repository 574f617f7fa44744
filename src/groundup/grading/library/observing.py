"""What traced tests call in place of comparisons: values leave the process, in an encoding that equality decides.

Like the runner it may stand in one process with untrusted code, so it needs the standard library and pytest only,
works on Python 3.7 to 3.13, and decides nothing. The parent uses `encoded` too, so both mean the same by a value.

Values that Python calls equal have one encoding: subclasses of builtin types count as their base value, whatever
their own methods say; of a dictionary or a set the order is lost. Anything else is opaque: its type's name.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Iterable
from types import TracebackType
from typing import Any

OPAQUE = "?"
DIGEST = "#"
MAX_TEXT = 32_768
"""Characters of one encoding; of a longer one its digest leaves."""
MAX_DEPTH = 40
MAX_PARTS = 100_000
NAMES = ("value", "pair", "truth", "raises", "raises_in_case")
PREFIX = "groundup_"


class Encoder:
    """Encodes one value as what JSON can hold."""

    def __init__(self) -> None:
        self._parts = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        """Return the encoding; what is too deep or too large is opaque."""
        self._parts += 1
        if depth > MAX_DEPTH or self._parts > MAX_PARTS:
            return [OPAQUE, "too large"]
        kind = type(value)
        for base, simple in SIMPLE:
            if issubclass(kind, base):
                return simple(value)
        for base, tag in SEQUENCES:
            if issubclass(kind, base):
                parts = [self.of(part, depth + 1) for part in base.__iter__(value)]
                return [tag, *(in_order(parts) if tag == "s" else parts)]
        if issubclass(kind, dict):
            pairs = [[self.of(key, depth + 1), self.of(part, depth + 1)] for key, part in dict.items(value)]
            return ["d", *in_order(pairs)]
        return [OPAQUE, str(type.__getattribute__(kind, "__qualname__"))[:100]]


def of_integer(value: int) -> Any:
    """Return the encoding of an integer, of which False and True are two."""
    return ["n", f"{int.__index__(value):x}"]


def of_float(value: float) -> Any:
    """Return an encoding that equal numbers share, whole ones with integers."""
    number = float.__float__(value)
    return of_integer(int(number)) if float.is_integer(number) else ["n", repr(number)]


def of_bytes(value: Any) -> Any:
    """Return the encoding of bytes, whether they can be changed or not."""
    base: Any = bytes if issubclass(type(value), bytes) else bytearray
    return ["b", base.__getitem__(value, slice(None)).hex()]


SIMPLE: Any = (
    (type(None), lambda _: None),
    (int, of_integer),
    (float, of_float),
    (str, str.__str__),
    (bytes, of_bytes),
    (bytearray, of_bytes),
)
SEQUENCES: Any = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "s"))


def in_order(parts: Iterable[Any]) -> list[Any]:
    """Return encodings in an order that only they decide."""
    return sorted(parts, key=json.dumps)


def encoded(value: Any) -> str:
    """Return the encoding of *value* as text; of a long one a digest."""
    text = json.dumps(Encoder().of(value))
    if len(text) <= MAX_TEXT:
        return text
    return json.dumps([DIGEST, hashlib.sha256(text.encode("ascii")).hexdigest()])


class Observer:
    """The functions that traced tests call, each with the number of the place in the tests."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def install(self) -> None:
        """Let test modules find them."""
        for name in NAMES:
            setattr(builtins, PREFIX + name, getattr(self, name))

    def value(self, site: int, value: Any) -> bool:
        """Send a value of which the test knows what it should be, and this process does not."""
        return self._send(site, encoded(value))

    def pair(self, site: int, left: Any, right: Any) -> bool:
        """Send two values that should be equal, and whether they call themselves so."""
        return self._send(site, encoded(left), encoded(right), "true" if left == right else "false")

    def truth(self, site: int, value: Any) -> bool:
        """Send whether a condition holds, or its opposite: the parent knows which one this place asks for."""
        return self._send(site, "true" if value else "false")

    def raises(self, site: int, **options: Any) -> Raised:
        """Return what stands for `pytest.raises`: the exception's classes are sent."""
        import pytest

        return Raised(self, site, pytest.raises(BaseException, **options))  # noqa: PT011 - the class is looked at outside

    def raises_in_case(self, site: int) -> Raised:
        """Return what stands for `assertRaises`."""
        return Raised(self, site, None)

    def raised(self, site: int, kind: Any) -> None:
        """Send the names of the classes of what was raised; none when nothing was."""
        names = () if kind is None else type.__getattribute__(kind, "__mro__")
        self._send(site, encoded([str(type.__getattribute__(one, "__name__"))[:100] for one in names]))

    def _send(self, site: int, *values: str) -> bool:
        """Return true: a test that asserts this goes on, for nothing is decided here."""
        self._channel.send("value", site=site, values=list(values))
        return True


class Raised:
    """A block that should raise something."""

    def __init__(self, observer: Observer, site: int, inner: Any) -> None:
        self._observer = observer
        self._site = site
        self._inner = inner
        self.exception: BaseException | None = None

    def __enter__(self) -> Any:
        return self if self._inner is None else self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._observer.raised(self._site, kind)
        if self._inner is not None:
            return bool(self._inner.__exit__(kind, error, trace))
        if kind is None:
            raise AssertionError("nothing was raised")
        self.exception = error
        return True
