"""Which line kept a submission from being installed, imported, or found at its port, by why and its files."""

import re
from collections.abc import Iterable
from pathlib import Path

from groundup.domain.verdicts import Reason, Stage, Verdict
from groundup.grading.submitted_sources import Sources
from groundup_origins.probable import only, probable_place

_OTHER_PORT = re.compile(r"it listens on \S+?:(\d+)\b(?!.*(?: and | or )\S+:\d)")
_REFUSED_PACKAGE = re.compile(
    r"[Bb]ecause ([\w.-]+)(?:\[[^\]]*\])? was not found|there (?:is|are) no versions? of ([\w.-]+)"
    r"|No matching distribution found for ([\w.-]+?)(?:[=<>!~ ]|$)"
    r"|(?:[Cc]ould not find artifact|version' for) [\w.-]+:([\w.-]+)|No matching version found for (@?[\w./-]+?)@"
)
"""How installers tell which package they cannot have."""
_REFUSED_VERSION = re.compile(r"ould not find artifact [\w.-]+:[\w.-]+:(?:\w+:)*?(\d[\w.-]*)")
"""How Maven tells the version of it, which stands in a line of its own."""
_LACKED = re.compile(r"\bpip3? install ([\w.-]*\w)|No module named '(\w+)")
"""How a service that ends as it starts tells which package it lacks."""
_VERSION_BELOW = 3
_OF_PYTHON = frozenset({"requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "Pipfile"})
_MANIFESTS = _OF_PYTHON | {"pom.xml", "build.gradle", "build.gradle.kts", "package.json", "go.mod", "Cargo.toml"}
_STARTERS = frozenset({
    ".sh", "Procfile", "Dockerfile", "application.properties", "application.yml", "application.yaml", ".env",
})  # fmt: skip
"""Files, or their endings, that say where a service answers."""
_LONGEST_REASON = 400


def with_places(verdict: Verdict, submission: Path) -> Verdict:
    """Return *verdict* with the line to mend where *submission* was not installed, imported or found."""
    if not any(one.stage in (Stage.INSTALL, Stage.START, Stage.IMPORT) for one in verdict.reasons):
        return verdict
    sources = Sources.of(submission, _MANIFESTS | _STARTERS)
    return verdict.but(reasons=tuple(with_place(one, sources) for one in verdict.reasons))


def with_place(reason: Reason, sources: Sources) -> Reason:
    """Return why a submission was not installed or imported, or answers elsewhere, with the line to mend."""
    port = _OTHER_PORT.search(reason.message)
    refused = _REFUSED_PACKAGE.search(reason.message)
    name = next(filter(None, refused.groups()), "") if refused else ""
    if port is not None:
        places = sources.lines_with(re.compile(rf"(?<![\w.]){port[1]}(?![\w.])"))
    elif name:
        pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", re.IGNORECASE)
        places = [one for one in sources.lines_with(pattern) if one[0].rpartition("/")[2] in _MANIFESTS]
        places = _version_below(_REFUSED_VERSION.search(reason.message), places, sources) or places
    else:
        places = []
    is_lacking = reason.stage is Stage.IMPORT and not places
    said = probable_place(reason.message, "", sources) if is_lacking else only(sources, places)
    undeclared = _undeclared(reason, sources) if reason.stage is Stage.START and not said else ""
    if not said and not undeclared:
        return reason
    more = f"; probably {said}" if said else f"; {undeclared}"
    return reason.but(message=reason.message[: _LONGEST_REASON - len(more)] + more)


def _undeclared(reason: Reason, sources: Sources) -> str:
    """Say that the one file with what a service in Python needs does not declare a package that it lacks."""
    found = _LACKED.search(reason.message)
    name = next(filter(None, found.groups())) if found else ""
    manifests = {path for path in sources.paths() if path.rpartition("/")[2] in _OF_PYTHON}
    if not name or len(manifests) != 1 or sources.named(f"{name}.py") or sources.named(f"{name}/__init__.py"):
        return ""
    spelt = re.compile(rf"(?<![\w.-]){re.sub('[-_.]', '[-_.]', name)}(?![\w-]|\.\w)", re.IGNORECASE)
    manifest = manifests.pop()
    declared = [path for path, _ in sources.lines_with(spelt) if path == manifest]
    return "" if declared else f"{manifest} does not declare {name}"


def _version_below(
    found: re.Match[str] | None, places: Iterable[tuple[str, int]], sources: Sources
) -> list[tuple[str, int]]:
    """Return the lines just below *places* that have the version that was found."""
    return [
        (path, number)
        for path, first in places
        for number in range(first + 1, first + 1 + _VERSION_BELOW)
        if found is not None and found[1] in sources.line(path, number)
    ]
