"""What to install beside an original, for which interpreter, as of which day; each repair is noted.

Specifications were written for models, in many shapes and with errors, so what they say is a hint that has to
prove itself: what cannot be read is absent, and nothing is raised.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from groundup.domain.records import Record
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.pages import spelled_version
from groundup.sources.names import words
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup.suites.nl2repobench.recipe import RecipeEnvironment
from groundup_factory.recipes.candidates import MINORS, IndexRelease, fetched, releases
from groundup_factory.recipes.project import OriginalProject

_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"python(?:\s+version)?[^\n\d]{0,80}?\b(3\.\d{1,2})(?:\.\d+)?\b", re.IGNORECASE)
_CURRENT = re.compile(r"python version used[^\n]*?\b(3\.\d{1,2})", re.IGNORECASE)
_COLUMNS = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)[ \t]+v?(\d[A-Za-z0-9.+!_-]*)\s*(?:#.*)?$")
_BRANCH = re.compile(r"^(?P<lead>[\s│|├└`+\\-]*?)(?:├|└|\||\+|`)[─—-]{1,3}\s*(?P<name>[^\s#(<←─]+)")
_NOT_LIBRARIES = frozenset({"python", "pip", "setuptools", "wheel"})
"""Where an interpreter brings its own, or none is needed to run tests."""
_FAR = 6000
"""Characters after the words on the environment within which its lists stand."""


class Specification(Record):
    """What could be read."""

    python: str | None = None
    pins: dict[str, str] = {}
    """Normalised name -> version, of a whole environment."""
    wishes: tuple[str, ...] = ()
    """Requirement lines that name no one version."""
    tree: frozenset[str] = frozenset()
    """Paths of files and folders, relative to the root."""


def read_specification(text: str) -> Specification:
    pins, wishes = _requirements(text)
    return Specification(python=_named_python(text), pins=pins, wishes=wishes, tree=frozenset(_tree(text)))


def _named_python(text: str) -> str | None:
    found = _CURRENT.search(text)
    if found is None:
        heading = re.search(r"^#+.*(environment|python version)", text, re.IGNORECASE | re.MULTILINE)
        place = heading.start() if heading else 0
        found = _PYTHON.search(text, place, place + _FAR)
    return found[1] if found else None


def _requirements(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the pins and wishes of the block that has most of them: a specification may show several."""
    best: tuple[dict[str, str], tuple[str, ...]] = ({}, ())
    for block in _FENCE.finditer(text):
        if "──" in block[1]:
            continue
        found = _of_block(block[1])
        if len(found[0]) + len(found[1]) > len(best[0]) + len(best[1]):
            best = found
    return best


def _of_block(block: str) -> tuple[dict[str, str], tuple[str, ...]]:
    pins: dict[str, str] = {}
    wishes: list[str] = []
    lines = [line.strip() for line in block.splitlines() if line.strip() and not line.strip().startswith("#")]
    understood = 0
    for line in lines:
        columns = _COLUMNS.match(line)
        if columns and spelled_version(columns[2]) is not None:
            understood += 1
            _add(pins, columns[1], columns[2])
            continue
        wish = _requirement(line)
        if wish is None:
            continue
        understood += 1
        exact = [part.version for part in wish.specifier if part.operator == "==" and "*" not in part.version]
        if exact and spelled_version(exact[0]) is not None:
            _add(pins, wish.name, exact[0])
        elif canonicalize_name(wish.name) not in _NOT_LIBRARIES:
            wishes.append(f"{wish.name}{wish.specifier}")
    # A block of code has an accidental line that looks like a requirement.
    return (pins, tuple(wishes)) if understood * 2 > len(lines) else ({}, ())


def _add(pins: dict[str, str], name: str, version: str) -> None:
    project = str(canonicalize_name(name))
    if project not in _NOT_LIBRARIES:
        pins.setdefault(project, version)


def _requirement(line: str) -> Requirement | None:
    bare = re.sub(r"\s+#.*$", "", line.strip().rstrip(",").strip("\"'"))
    try:
        found = Requirement(bare)
    except InvalidRequirement:
        return None
    return found if found.specifier and not found.url else None


def _tree(text: str) -> Iterator[str]:
    """Yield the paths of the first drawn tree."""
    for block in _FENCE.finditer(text):
        if "──" in block[1]:
            yield from _paths(block[1])
            return


def _paths(block: str) -> Iterator[str]:
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        found = _BRANCH.match(line)
        if found is None:
            continue
        depth, name = found.start("name"), found["name"].strip("/").strip("*`")
        if not name or name in (".", "..", "..."):
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, name))
        yield "/".join(part for _, part in above)


DEFAULT_DAY = "2025-09-01"
"""What counts where no installed version shows when the tests were run: shortly before the first release."""
_PYTEST = Version("8.4.1")
"""Of nearly all specifications that name one; an older interpreter gets the newest before it."""
_BACKPORTS = {"exceptiongroup": "3.10", "tomli": "3.10", "importlib-metadata": "3.9", "zipp": "3.9"}
"""Needed by pytest up to that Python; another interpreter would not have installed them, most likely."""
_NOT_FOR_TESTS = words(
    """
    pip setuptools wheel twine build tox nox pre-commit black flake8 isort ruff sphinx mkdocs mypy pylint coverage
    pytest-cov pytest-xdist flit flit-core hatch furo codecov coveralls bump2version bumpversion
    """
)
"""Named as wishes in many specifications, and no test imports them; an import error brings one back."""


class EnvironmentRequest(Record):
    """What a specification's environment comes to."""

    python: str
    wants: tuple[str, ...]
    exclude_newer: str
    from_source: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    def environment(self) -> RecipeEnvironment:
        """Return it as the part of a recipe that is not yet locked."""
        return RecipeEnvironment(
            python=self.python,
            wants=self.wants,
            exclude_newer=self.exclude_newer,
            from_source=self.from_source,
        )


async def choose(
    specification: Specification,
    project: OriginalProject,
    own: Iterable[str],
    registry: PyPIClient,
    decision: TaskDecision,
) -> EnvironmentRequest:
    """Return what to install. *own*: names of the library itself; *decision*: what a person decided."""
    names = {str(canonicalize_name(name)) for name in own}
    notes: list[str] = []
    pins = dict(specification.pins)
    notes += [f"dropped the library itself, {name}=={pins.pop(name)}" for name in sorted(names & pins.keys())]
    decided = {str(canonicalize_name(Requirement(line).name)) for line in decision.add}
    left_out = {str(canonicalize_name(name)) for name in decision.leave_out}
    for name in pins.keys() & (decided | left_out):
        del pins[name]
    known = {name: (await releases(registry, name)).get(_plain(pins[name])) for name in pins}
    for name in [name for name, release in known.items() if release is None]:
        notes.append(f"dropped {name}=={pins.pop(name)}, which the index does not have")
        del known[name]
    found = {name: release for name, release in known.items() if release is not None}
    chosen = decision.python or _python(specification, found, notes)
    from_source = {}
    for name in [name for name, release in found.items() if not release.pythons]:
        file = found.pop(name).source
        if file is not None:
            from_source[f"{name}=={pins.pop(name)}"] = f"sha256:{(await fetched(registry, file))[1]}"
            notes.append(f"{name} has no wheel and is built from source")
    for name in [name for name, release in found.items() if chosen not in release.pythons]:
        notes.append(f"dropped {name}=={pins.pop(name)}, which has no wheel for Python {chosen}")
        del found[name]
    wants = _wants(project, names | left_out, pins, from_source, notes)
    wants = [line for line in wants if canonicalize_name(Requirement(line).name) not in decided]
    for line in decision.add:
        release = await _exactly(line, registry)
        if release is None or release.source is None or chosen in release.pythons:
            wants.append(line)
            continue
        from_source[line] = f"sha256:{(await fetched(registry, release.source))[1]}"
        notes.append(f"{line} has no wheel for Python {chosen} and is built from source")
    if not any(Requirement(line).name == "pytest" for line in wants):
        wants.append(await _pytest(chosen, registry))
        notes.append(f"added {wants[-1]}")
    added = [await _exactly(line, registry) for line in wants if line.partition("==")[0] not in pins]
    return EnvironmentRequest(
        python=chosen,
        wants=tuple(wants),
        exclude_newer=_not_before(_day(found.values(), pins), [one for one in added if one is not None]),
        from_source=from_source,
        notes=tuple(notes),
    )


def _wants(
    project: OriginalProject,
    names: set[str],
    pins: Mapping[str, str],
    from_source: Iterable[str],
    notes: list[str],
) -> list[str]:
    """Return the pins, and what the project needs besides; *names* are the library's own, or left out."""
    wants = [f"{name}=={version}" for name, version in sorted(pins.items())]
    if len(pins) < 3:  # a list of wishes rather than of a whole environment
        return [*wants, *_wishes(project, project.test_requires, names, pins)]
    # What installing the project would have brought, and the specification forgot.
    forgotten = _wishes(project, (), names | {line.partition("==")[0] for line in from_source}, pins)
    notes += [f"added {line}, which the project requires" for line in forgotten]
    return [*wants, *forgotten]


async def newest_pin(specification: Specification, registry: PyPIClient) -> datetime:
    """Return when the newest of the pins came to the index: the tests were run soon after."""
    known = [(await releases(registry, name)).get(_plain(version)) for name, version in specification.pins.items()]
    found = [release for release in known if release is not None]
    return instant(_day(found, specification.pins))


def lock_without(
    lock: Mapping[str, tuple[str, ...]], own: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return a lock without the library itself, which something else asked for, and what to note."""
    names = {canonicalize_name(name) for name in own}
    kept = {pin: hashes for pin, hashes in lock.items() if canonicalize_name(pin.partition("==")[0]) not in names}
    gone = sorted(lock.keys() - kept.keys())
    return kept, f"left {', '.join(gone)} out of the lock: it is the library itself" if gone else ""


def _wishes(project: OriginalProject, more: Sequence[str], own: set[str], pins: Mapping[str, str]) -> list[str]:
    """Return what the project itself needs, and of *more* what tests may import, that is not pinned."""
    kept = []
    for line in dict.fromkeys((*project.requires, *more)):
        name = canonicalize_name(Requirement(line).name)
        if name not in own and name not in pins and name not in _NOT_FOR_TESTS and name != "pytest":
            kept.append(line)
    return kept


def _python(specification: Specification, found: Mapping[str, IndexRelease], notes: list[str]) -> str:
    """Return the interpreter asked for; where many versions have no wheel for it, the one that fewest lack."""
    python = specification.python if specification.python in MINORS else "3.12"
    if specification.python != python:
        notes.append(f"the specification names no usable Python; took {python}")
    lacking = {minor: sum(minor not in release.pythons for release in found.values()) for minor in MINORS}
    latest = min((_BACKPORTS[name] for name in found if name in _BACKPORTS), default=None, key=MINORS.index)
    if latest is not None and MINORS.index(python) > MINORS.index(latest):
        notes.append(
            f"the pins hold a backport that Python {python} does not need: they may be of {latest} or older"
        )
    if lacking[python] <= min(lacking.values()):
        return python
    near = sorted(MINORS, key=lambda minor: (lacking[minor], abs(MINORS.index(minor) - MINORS.index(python))))
    if lacking[python] > len(found) / 4:
        notes.append(f"took Python {near[0]}: {lacking[python]} of {len(found)} pins are not for {python}")
        return near[0]
    return python


def _day(found: Iterable[IndexRelease], pins: Mapping[str, str]) -> str:
    """Return the cut-off date: after the newest of the pins, if there are enough of them."""
    times = [release.uploaded for release in found if release.uploaded is not None]
    if len(pins) < 3 or not times:
        return f"{DEFAULT_DAY}T00:00:00Z"
    return _after(max(times))


def _after(time: datetime) -> str:
    """Return the start of the day after *time*."""
    return f"{(time.astimezone(UTC) + timedelta(days=1)).date()}T00:00:00Z"


async def _pytest(python: str, registry: PyPIClient) -> str:
    known = await releases(registry, "pytest")
    fitting = [name for name, one in known.items() if python in one.pythons and Version(name) <= _PYTEST]
    return f"pytest=={fitting[-1] if fitting else _PYTEST}"


async def _exactly(line: str, registry: PyPIClient) -> IndexRelease | None:
    """Return the one release that a requirement line names, if it names one."""
    wanted = Requirement(line)
    versions = [part.version for part in wanted.specifier if part.operator == "==" and "*" not in part.version]
    return (await releases(registry, wanted.name)).get(_plain(versions[0])) if versions else None


def _not_before(day: str, added: Iterable[IndexRelease]) -> str:
    """Return *day*, or a later one as of which the index has what was added to the pins."""
    times = [release.uploaded for release in added if release.uploaded is not None]
    if not times or max(times) < instant(day):
        return day
    return _after(max(times))


def _plain(version: str) -> str:
    return str(Version(version))


def instant(day: str) -> datetime:
    """Return a cut-off date as an instant."""
    found = datetime.fromisoformat(day)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
