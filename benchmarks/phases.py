"""Where the processor time of one command goes: `python -m benchmarks.phases OUT.json run nl2repobench ...`.

`served FOLDER` in place of a command: an episode of jsonlines with the files of FOLDER, as a server plays it:
opened, one `bash`, handed in, graded.

Runs the command in this process and writes to OUT seconds of processor time by phase. Functions of `PLACES` are
wrapped as their modules are imported; what one takes counts for its phase without what it calls of other phases. A
coroutine counts while it runs, not while it waits, so that attempts at once do not mix. What guests take comes
from their control groups, and what a run of tests takes inside from the runner, which tells it with each event,
here and nowhere else. `python -m benchmarks.overhead --profile` makes a table of it.
"""

import _thread
import inspect
import json
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

_AT_START_S = time.process_time()

INTERPRETER, IMPORTS, REST = "interpreter", "imports", "event loop and the rest"
SCHEMAS = "checks of records made"
LAUNCHER, BOX = "launcher", "sandboxes: to start and to end them"
GUEST_START, COLLECTED, TESTED, LEFT = "pytest's start", "collection", "tests", "end of the test process"
OTHER_COMMANDS = "other commands of guests"
PLACES = {
    "groundup.api.requests": {"running": "flags", "evaluation": "flags"},
    "groundup.settings": {"load": "flags"},
    "groundup.runs.plan": {"make_plan": "reading the suite"},
    "groundup.suites.opening": {"open_suite": "reading the suite"},
    "groundup.environments.local": {"LocalBuilder.python": "layers", "LocalBuilder.source": "layers"},
    "groundup.environments.python_builder": {"PythonBuilder.python": "layers", "layer_key": "layers"},
    "groundup_integrity.false_forms": {"suite_of_layer": "decision: the hidden tests' text"},
    "groundup.runs.predictions": {"GivenSource.take_in": "taking in"},
    "groundup.trees.digest": {"tree_digest": "taking in"},
    "groundup.grading.library.staging": {"stage": "composition"},
    "groundup.grading.library.layout": {"with_own_roots": "composition", "with_version_file": "composition"},
    "groundup.trees.walking": {"remove_tree": "removing what was laid out"},
    "groundup.sandbox.bubblewrap": {
        "BubblewrapProvider.open_in": "asking for sandboxes",
        "BubblewrapProvider._launcher": "asking for sandboxes",
        "BubblewrapProvider.close": "asking for sandboxes",
    },
    "groundup.sandbox.guest": {
        "SupervisedSandbox.opened": "asking for sandboxes",
        "SupervisedSandbox.close": "asking for sandboxes",
        "SupervisedSandbox._hear": "asking for sandboxes",
        "SupervisedSandbox.run": "commands",
    },
    "groundup.grading.library.report": {"parse_report": "reading what tests did"},
    "groundup.grading.library.decision": {"decide": "decision"},
    "groundup_integrity.check": {"Check.integrity": "decision"},
    "groundup_integrity.freshening": {
        "with_fresh_inputs": "decision",
        "FreshInputs.changed": "decision",
    },
    "groundup.store.folder": {
        "RunWriter.record": "records",
        "RunWriter.create": "records",
        "RunWriter.began": "records",
        "RunWriter.ended": "records",
        "RunWriter.close": "records",
    },
    "groundup.runs.reporting": {"write_report": "report"},
    "groundup.api.reports": {"read_report": "report"},
    "groundup.cli.run": {"print_result": "report"},
}
"""By module: which function belongs to which phase."""


class Account:
    """Adds processor time up by phase, for each thread on its own."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.counts: dict[str, int] = defaultdict(int)
        self._open: dict[int, list[list[Any]]] = defaultdict(list)

    def enter(self, phase: str) -> None:
        """Let this thread's time count for *phase* until `leave`."""
        now, stack = time.thread_time(), self._open[_thread.get_ident()]
        if stack:
            self.spent[stack[-1][0]] += now - stack[-1][1]
        stack.append([phase, now])

    def leave(self) -> None:
        """Go back to the phase before."""
        now, stack = time.thread_time(), self._open[_thread.get_ident()]
        phase, since = stack.pop()
        self.spent[phase] += now - since
        if stack:
            stack[-1][1] = now


ACCOUNT = Account()


class Driven:
    """A coroutine that counts for a phase whenever it runs."""

    def __init__(self, inner: Coroutine[Any, Any, Any], phase: str) -> None:
        self._inner, self._phase = inner, phase

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Let it run to its next wait."""
        ACCOUNT.enter(self._phase)
        try:
            return self._inner.send(value)
        finally:
            ACCOUNT.leave()

    def throw(self, *error: Any) -> Any:
        """Let it run with an error."""
        ACCOUNT.enter(self._phase)
        try:
            return self._inner.throw(*error)
        finally:
            ACCOUNT.leave()

    def close(self) -> None:
        """End it."""
        self._inner.close()


def counted(function: Callable[..., Any], phase: str) -> Callable[..., Any]:
    """Return *function*, whose time counts for *phase*."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def driven(*given: Any, **named: Any) -> Any:
            return await Driven(function(*given, **named), phase)

        return driven

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        ACCOUNT.enter(phase)
        try:
            return function(*given, **named)
        finally:
            ACCOUNT.leave()

    return called


def wrap(module: ModuleType, place: str, phase: str) -> None:
    """Have what stands at *place* in a module count for *phase*."""
    holder, _, name = place.rpartition(".")
    owner = getattr(module, holder) if holder else module
    found = inspect.getattr_static(owner, name)
    kind = type(found) if isinstance(found, classmethod | staticmethod) else None
    setattr(owner, name, kind(counted(found.__func__, phase)) if kind else counted(found, phase))


def watch_imports() -> None:
    """Count imports, and wrap what `PLACES` names as soon as its module is there."""
    import _frozen_importlib as machinery

    find, load = machinery._find_and_load, machinery._load_unlocked  # type: ignore[attr-defined]

    def found(name: str, *given: Any) -> Any:
        ACCOUNT.enter(IMPORTS)
        try:
            return find(name, *given)
        finally:
            ACCOUNT.leave()

    def loaded(spec: Any) -> Any:
        module = load(spec)
        ACCOUNT.counts["modules"] += 1
        for place, phase in PLACES.get(spec.name, {}).items():
            wrap(module, place, phase)
        if spec.name in AFTER:
            AFTER[spec.name](module)
        return module

    machinery._find_and_load, machinery._load_unlocked = found, loaded  # type: ignore[attr-defined]


def watch_schemas(module: ModuleType) -> None:
    """Count how long pydantic takes to make what checks a record."""
    wrap(module, "complete_model_class", SCHEMAS)


def watch_runner(module: ModuleType) -> None:
    """Let the trusted runner tell with each event what processor time it has used."""
    plain = module.source_of

    def telling(name: str) -> bytes:
        text: bytes = plain(name).replace(
            b"json.dumps(dict(fields, event=event))",
            b"json.dumps(dict(fields, event=event, used=time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)))",
        )
        return text

    module.source_of = telling  # type: ignore[attr-defined]


_USED = re.compile(rb', "used": ([0-9.e-]+)\}')
_FROM = {b"start": GUEST_START, b"collected": COLLECTED, b"test": TESTED, b"begin": COLLECTED}
_EVENT = re.compile(rb'"event": "(\w+)"')


def watch_report(module: ModuleType) -> None:
    """Take from a report what the runner told of its time, and divide a run by it."""
    plain = module.parse_report

    def parsed(data: bytes, token: str) -> Any:
        reached = 0.0
        for line in data.splitlines():
            used, event = _USED.search(line), _EVENT.search(line)
            if used and event:
                now = float(used[1])
                ACCOUNT.spent[_FROM.get(event[1], LEFT)] += now - reached
                reached = now
        # What the process took after its last word, and before the first one of its interpreter.
        ACCOUNT.spent[OTHER_COMMANDS] -= reached
        return plain(_USED.sub(b"}", data), token)

    module.parse_report = parsed  # type: ignore[attr-defined]


def watch_guests(module: ModuleType) -> None:
    """Divide what a sandbox used into its start, its commands and its end."""
    sandbox = module.SupervisedSandbox
    run, hear = sandbox.run, sandbox._hear

    async def told(self: Any, command: Any) -> Any:
        before = self.usage().cpu_s or 0.0
        result = await run(self, command)
        used = (self.usage().cpu_s or 0.0) - before
        ACCOUNT.spent[OTHER_COMMANDS] += used
        self.told_s = getattr(self, "told_s", 0.0) + used
        ACCOUNT.counts["commands"] += 1
        return result

    def heard(self: Any, event: Any) -> None:
        hear(self, event)
        if event.event == "ended":
            ACCOUNT.counts["sandboxes"] += 1
            ACCOUNT.spent[BOX] += event.cpu_s - getattr(self, "told_s", 0.0)

    sandbox.run, sandbox._hear = told, heard


AFTER: dict[str, Callable[[ModuleType], None]] = {
    "pydantic._internal._model_construction": watch_schemas,
    "groundup.inside": watch_runner,
    "groundup.grading.library.report": watch_report,
    "groundup.sandbox.guest": watch_guests,
}


def of_children_s() -> float:
    """Return the processor time of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def served(submission: Path) -> int:
    """Play an episode of jsonlines in which *submission* is handed in."""
    import groundup

    with groundup.open_episode("nl2repobench", "jsonlines") as episode:
        for path in submission.rglob("*"):
            if path.is_file():
                episode.write_file(str(path.relative_to(submission)), path.read_bytes())
        episode.run("true")
        episode.submit()
        return int(episode.grade().outcome != "submitted")


def main() -> int:
    """Run a command and write down what its phases took."""
    out, *given = sys.argv[1:]
    ACCOUNT.spent[INTERPRETER] = _AT_START_S
    watch_imports()
    from groundup.cli.main import main as command

    code = served(Path(given[1])) if given[0] == "served" else command(given)
    guests = (BOX, OTHER_COMMANDS, GUEST_START, COLLECTED, TESTED, LEFT)
    inside = sum(ACCOUNT.spent[name] for name in guests)
    ACCOUNT.spent[LAUNCHER] = of_children_s() - inside
    own = sum(spent for name, spent in ACCOUNT.spent.items() if name not in (*guests, LAUNCHER))
    ACCOUNT.spent[REST] += time.process_time() - own
    Path(out).write_text(json.dumps({"spent": ACCOUNT.spent, "counts": ACCOUNT.counts}), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
