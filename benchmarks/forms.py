"""Forms of a value on the way of one command: every class of data of which it makes an instance, and of what kind.

    python -m benchmarks.forms evaluate nl2repobench -p predictions/ --tasks sqlparse --no-cache

Runs the command in this process and prints a row for each class that holds data (a record, a named tuple, a
dataclass) and was made on the way: its kind, where it was made, and which folders import it. The kinds, and which
of them count, are in docs/developers/design/forms.md. Objects that work, such as a store or a client, hold
no value that goes on, and are left out; so are the classes that only the command line's own folder knows.
"""

import ast
import importlib
import importlib.util
import pkgutil
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from pydantic import BaseModel

import groundup
from groundup.cli.main import main as run_command

SOURCES = Path(__file__).parents[1] / "src"
PACKAGES = tuple(
    name for name in ("groundup", "groundup_integrity", "groundup_origins") if importlib.util.find_spec(name)
)
"""What an evaluation may use."""
DOORS = ("Suite", "Grader", "Agent", "SandboxProvider", "Sandbox", "EnvironmentBuilder")
"""What plug-ins implement or are handed."""
WALLS = ("groundup.sandbox", "groundup.inside", "groundup.grading.library.report")
"""Modules that send to what runs in a sandbox, or read what comes out of it."""
TOML = ("groundup.settings", "groundup.suites.nl2repobench.recipe")
"""Modules that read files which pydantic cannot parse itself."""
API, DISK, PROTOCOL, INTERNAL, LOCAL = "api", "disk", "protocol", "internal", "local"
KINDS = {
    DISK: "written to a file that outlives the command, or read from one",
    API: "a part of the Python API, or handed to plug-ins",
    PROTOCOL: "what goes into a sandbox, or comes out of one",
    INTERNAL: "made in one folder and read in another: this is what should be few",
    LOCAL: "known to its own folder alone: a matter of that folder",
}


class Form(NamedTuple):
    """A class of data that was made on the way."""

    name: str
    module: str
    kind: str
    made_in: str
    """The function that made most of them."""
    times: int
    folders: tuple[str, ...]
    """Other folders that import it."""


class Tracer:
    """Notes which classes of data are made, and which are written to files or read from them."""

    def __init__(self) -> None:
        self.made: defaultdict[type, Counter[str]] = defaultdict(Counter)
        self.kept: set[type] = set()
        self.sent: set[type] = set()

    def watch(self) -> None:
        """Wrap what makes instances of every class of data that is loaded."""
        self._watch_records()
        seen: set[type] = set()
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in PACKAGES:
                continue
            for found in list(vars(module).values()):
                if isinstance(found, type) and found not in seen and _is_ours(found):
                    seen.add(found)
                    if issubclass(found, tuple) and hasattr(found, "_fields"):
                        self._wrap(found, "__new__")
                    elif is_dataclass(found) and "__init__" in vars(found):
                        self._wrap(found, "__init__")

    def _wrap(self, kind: Any, name: str) -> None:
        made = getattr(kind, name)

        def noted(first: Any, *given: Any, **named: Any) -> Any:
            self._note(first if isinstance(first, type) else type(first))
            return made(first, *given, **named)

        setattr(kind, name, noted)

    def _watch_records(self) -> None:
        base: Any = BaseModel
        made = base.__init__

        def noted(record: Any, /, **data: Any) -> None:
            made(record, **data)
            self._note(type(record))

        noted.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pydantic takes it for its own
        base.__init__ = noted
        for name in ("model_validate", "model_validate_json"):
            self._wrap_reading(base, name)
        for name in ("model_dump", "model_dump_json"):
            self._wrap_writing(base, name)

    def _wrap_reading(self, base: Any, name: str) -> None:
        read = getattr(base, name).__func__

        def noted(kind: Any, *given: Any, **named: Any) -> Any:
            found = read(kind, *given, **named)
            self._note_crossing(found, makes=True, is_text=name.endswith("json"))
            return found

        setattr(base, name, classmethod(noted))

    def _wrap_writing(self, base: Any, name: str) -> None:
        written = getattr(base, name)

        def noted(record: Any, *given: Any, **named: Any) -> Any:
            self._note_crossing(record, makes=False, is_text=True)
            return written(record, *given, **named)

        setattr(base, name, noted)

    def _note_crossing(self, found: object, *, makes: bool, is_text: bool) -> None:
        module = _caller().partition(":")[0]
        crossing = self.sent if module.startswith(WALLS) else self.kept
        for record in _records(found):
            if makes:
                self._note(type(record))
            if is_text or module in TOML:
                crossing.add(type(record))

    def _note(self, kind: type) -> None:
        if _is_ours(kind):
            self.made[kind][_caller()] += 1


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in PACKAGES


def _caller() -> str:
    """Return `module:function` of the nearest own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in PACKAGES and module != "groundup.domain.records":
            return f"{module}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "?:?"


def _records(value: object) -> Iterator[BaseModel]:
    match value:
        case BaseModel():
            yield value
            yield from _records(list(vars(value).values()))
        case dict():
            yield from _records(list(value.values()))
        case list() | tuple():
            for one in value:
                yield from _records(one)


def _load_everything() -> None:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if ".oracles" not in module.name and not module.name.endswith("__main__"):
                try:
                    importlib.import_module(module.name)
                except ModuleNotFoundError as error:  # of an extra that is not installed
                    if (error.name or "").partition(".")[0] in PACKAGES:
                        raise


class Tree:
    """What the sources say of classes: names in their public annotations, and who imports them."""

    def __init__(self) -> None:
        self.named: dict[str, set[str]] = {}
        """By class or function: the names in what its public members take, hold and return."""
        self.importers: defaultdict[str, set[str]] = defaultdict(set)
        """By class: folders that import it by name."""
        for package in PACKAGES:
            for path in sorted((SOURCES / package).rglob("*.py")):
                self._read(package, path)

    def _read(self, package: str, path: Path) -> None:
        inner = path.relative_to(SOURCES / package).with_suffix("").parts
        folder = inner[0] if package == "groundup" else package
        module = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    self.importers[one.name].add(folder)
        for node in module.body:
            match node:
                case ast.ClassDef(name=name, body=body, bases=bases):
                    shown = {word for base in bases for word in _words(base)}
                    for member in body:
                        shown |= set(_annotated(member))
                    self.named[name] = self.named.get(name, set()) | shown
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if folder == "api":
                    self.named.setdefault(name, set()).update(_annotated(node))
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value):
                    self.named.setdefault(name, set()).update(_words(value))

    def reachable(self, names: Iterable[str]) -> set[str]:
        """Return the classes that public annotations lead to."""
        found: set[str] = set()
        todo = deque(names)
        while todo:
            name = todo.popleft()
            if name not in found:
                found.add(name)
                todo.extend(one for one in self.named.get(name, ()) if one[:1].isupper())
        return found


def _annotated(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
            yield from _words(annotation)
        case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
            if name.startswith("_"):
                return
            for one in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
                if one is not None and one.annotation is not None:
                    yield from _words(one.annotation)
            if node.returns is not None:
                yield from _words(node.returns)


def _words(annotation: ast.expr) -> Iterator[str]:
    for node in ast.walk(annotation):
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text


def forms(tracer: Tracer, tree: Tree) -> list[Form]:
    """Return what *tracer* saw, by kind."""
    offered = tree.reachable([*groundup.__all__, *DOORS])
    found = []
    for kind, makers in tracer.made.items():
        home = _folder(kind.__module__)
        others = tuple(sorted(tree.importers[kind.__name__] - {home}))
        if home == "cli":
            continue
        if kind in tracer.kept:
            is_a = DISK
        elif kind.__name__ in offered:
            is_a = API
        elif kind in tracer.sent or kind.__module__.startswith(WALLS):
            is_a = PROTOCOL
        else:
            is_a = INTERNAL if others else LOCAL
        made_in = makers.most_common(1)[0][0].removeprefix("groundup.")
        found.append(Form(kind.__name__, kind.__module__, is_a, made_in, makers.total(), others))
    return sorted(found, key=lambda one: ([*KINDS].index(one.kind), one.module, one.name))


def _folder(module: str) -> str:
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "groundup" else package


def table(found: Iterable[Form]) -> str:
    """Return the rows, and below them how many there are of each kind."""
    rows = list(found)
    lines = ["| class | module | kind | made in | times | read in |", "|---|---|---|---|---|---|"]
    for one in rows:
        cells = (one.name, one.module, one.kind, one.made_in, str(one.times), ", ".join(one.folders))
        lines.append(f"| {' | '.join(cells)} |")
    counts: Mapping[str, int] = Counter(one.kind for one in rows)
    lines += ["", *(f"{counts.get(kind, 0):3} {kind}: {meaning}" for kind, meaning in KINDS.items())]
    return "\n".join(lines)


def main(command: list[str], run: Callable[[], object] = run_command) -> None:
    """Run *command* and print the table of its forms."""
    _load_everything()
    tracer = Tracer()
    tracer.watch()
    sys.argv = ["groundup", *command]
    try:
        run()
    except SystemExit as ended:
        if ended.code:
            raise
    print(table(forms(tracer, Tree())))


if __name__ == "__main__":
    main(sys.argv[1:])
