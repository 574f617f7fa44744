"""Other exceptions in place of one that a test expects: usual ones, which what it meets cannot be. Pure.

A rare class would show a submission that an expectation is false. One that is an ancestor of what the original
raises would be met; so the classes that its sources define are known by name, with all that they inherit.
"""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_RARE = ("BufferError", "FloatingPointError", "ChildProcessError", "NotADirectoryError", "ProcessLookupError")
"""Where nothing is known of what is raised."""
_USUAL = (
    "ValueError",
    "TypeError",
    "KeyError",
    "AttributeError",
    "IndexError",
    "RuntimeError",
    "ZeroDivisionError",
)
_RARE_WARNINGS = ("BytesWarning", "ImportWarning", "UnicodeWarning")
_USUAL_WARNINGS = ("FutureWarning", "RuntimeWarning")
"""Not `UserWarning`, which needs no name, nor those of what is deprecated, which other packages may give."""
_BUILTIN = {
    name: one for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, Exception)
}
_WIDE = frozenset({"Exception", "BaseException", "OSError", "IOError", "EnvironmentError", "Warning"})
_SYSTEM = frozenset({"OSError", "IOError", "EnvironmentError"})
_LAYOUTS = frozenset({"str", "bytes", "int", "float", "list", "tuple", "dict", "set"})
"""Builtin classes of which Python lets no class inherit two."""
_OPEN = frozenset({"ABC", "ABCMeta", "Protocol", "Mock", "MagicMock", "metaclass"})
"""Where one of these is an ancestor, being an instance may be a matter of more than inheritance."""
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\)|:)", re.MULTILINE)
_NAME = re.compile(r"(?:\w+\.)*(\w+)")


def ancestors_in(sources: Iterable[bytes]) -> dict[str, frozenset[str]]:
    """Return what each class of *sources* inherits by name, itself included; classes of one name count as one."""
    bases: dict[str, set[str]] = {name: {one.__name__ for one in kind.__mro__} for name, kind in _BUILTIN.items()}
    for source in sources:
        for name, inherited in _CLASS.findall(source):
            bases.setdefault(name.decode(), set()).update(
                found.rpartition(".")[2] for found in re.findall(r"[\w.]+", inherited.decode("utf-8", "replace"))
            )
    return {name: frozenset(_closure(name, bases)) for name in bases}


def _closure(name: str, bases: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += bases.get(one, ())
    return found


def unused_warnings(sources: Iterable[bytes]) -> tuple[str, ...]:
    """Return the usual warnings that *sources* do not name, so that nothing there gives them beside others."""
    texts = list(sources)
    return tuple(name for name in _USUAL_WARNINGS if not any(name.encode() in text for text in texts))


class Errors:
    """The exceptions and warnings that one test file may expect. *warnings*: usual ones that nothing gives."""

    def __init__(
        self,
        ancestors: Mapping[str, frozenset[str]],
        module: ast.Module,
        warnings: Iterable[str] = _USUAL_WARNINGS,
    ) -> None:
        self._ancestors = ancestors
        self._warnings = tuple(warnings)
        known = set(_bound(module))
        self._classes = sorted({text for text in _checked(module) if text.partition(".")[0] in known | _LAYOUTS})
        self._mentioned = sorted({text for text in _expected(module) if text.partition(".")[0] in known})

    def unrelated(self, text: str) -> Sequence[str]:
        """Return classes that nothing is which meets the expectation *text*."""
        expected = _NAME.fullmatch(text)
        rare = [name for name in _RARE if name not in text]
        if expected and expected[1] in _SYSTEM:
            rare = [name for name in rare if not issubclass(_BUILTIN[name], OSError)]  # these would meet it
        if expected is None or expected[1] in _WIDE or "Exception" not in self._ancestors.get(expected[1], ()):
            return rare
        # None of the ancestors will do of a class that meets the expectation.
        meeting = self._meeting(expected[1])
        others = {*_USUAL, *(one for one in self._mentioned if self._is_known(one))}
        return sorted(one for one in others if not any(_last(one) in above for above in meeting)) or rare

    def unrelated_warnings(self, text: str) -> Sequence[str]:
        """Return warnings that nothing is which meets the expectation *text*."""
        rare = [name for name in _RARE_WARNINGS if name not in text]
        expected = _NAME.fullmatch(text)
        if expected is None or expected[1] in _WIDE or "Warning" not in self._ancestors.get(expected[1], ()):
            return rare
        meeting = self._meeting(expected[1])
        return [one for one in self._warnings if not any(one in above for above in meeting)] or rare

    def unrelated_classes(self, text: str) -> Sequence[str]:
        """Return classes that the file asks for and of which no instance of *text* is one."""
        if _last(text) in _LAYOUTS:
            return sorted(_LAYOUTS & set(self._classes) - {text}) or sorted(_LAYOUTS - {text})
        if _last(text) not in self._ancestors:
            return ()
        meeting = self._meeting(_last(text))
        if not all(map(self._is_plain, meeting)):
            return ()
        others = [one for one in self._classes if _last(one) in _LAYOUTS or _last(one) in self._ancestors]
        return [
            one
            for one in others
            if not any(_last(one) in above for above in meeting)
            and self._is_plain(self._ancestors.get(_last(one), frozenset()))
        ]

    def _meeting(self, name: str) -> list[frozenset[str]]:
        """Return the ancestors of each class that is *name* or inherits it."""
        return [above for above in self._ancestors.values() if name in above]

    def _is_plain(self, ancestors: frozenset[str]) -> bool:
        """Whether all is known of a class: what comes from elsewhere, as `NamedTuple`, may inherit anything."""
        return not _OPEN & ancestors and ancestors <= self._ancestors.keys() | _LAYOUTS | {"object"}

    def _is_known(self, text: str) -> bool:
        return "Exception" in self._ancestors.get(_last(text), ()) and _last(text) not in _WIDE


def _last(text: str) -> str:
    return text.rpartition(".")[2]


def _expected(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Name() | ast.Attribute() as kind, *_]
            ) if name in ("raises", "assertRaises", "assertRaisesRegex"):
                yield ast.unparse(kind)


def _checked(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Call(
                func=ast.Name(id="isinstance") | ast.Attribute(attr="assertIsInstance"),
                args=[_, ast.Name() | ast.Attribute() as kind],
            ):
                yield ast.unparse(kind)


def _bound(module: ast.Module) -> Iterator[str]:
    yield from _BUILTIN
    for node in module.body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((one.asname or one.name).partition(".")[0] for one in names)
            case ast.ClassDef(name=name):
                yield name
