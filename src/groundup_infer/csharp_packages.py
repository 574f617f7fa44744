"""What is known of C# packages: their namespaces, what else speaks for them, and what they bring along."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from groundup.sources.names import words

SHARED_FRAMEWORK = re.compile(
    r"Microsoft\.Extensions\.(Caching\.(Abstractions|Memory)|Configuration|DependencyInjection|Diagnostics|Features"
    r"|FileProviders|FileSystemGlobbing|Hosting|Http|Identity\.(Core|Stores)|Localization|Logging|ObjectPool|Options"
    r"|Primitives|WebEncoders)"
    r"(?!\.(EntityFrameworkCore|HealthChecks\.EntityFrameworkCore|Polly|ResourceMonitoring|Resilience|Systemd|Testing"
    r"|WindowsServices))\b"
)
"""Names of packages that are part of ASP.NET Core's framework: who references that needs no reference to them."""
ASPNET = "Microsoft.AspNetCore.App"
"""The framework by its own name."""
RAZOR_COMPONENTS = "Microsoft.AspNetCore.Components"
RAZOR_SDK = "microsoft.net.sdk.razor"
ASPNET_SDKS = frozenset({"microsoft.net.sdk.web", "microsoft.net.sdk.blazorwebassembly"})


class Trace(NamedTuple):
    """What speaks for a package besides a namespace of its own."""

    package: str
    sign: str
    beside: str = ""
    """Another word of the same file, for the text of a file what it must hold."""
    opened: str = ""
    """A namespace that the project must open."""
    is_old: bool = False
    """Whether it counts only in a project that is built for older frameworks, too."""


@cache
def _lines(name: str) -> tuple[str, ...]:
    text = files("groundup_infer").joinpath(f"data/{name}.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def namespaces() -> Mapping[str, str]:
    """Return packages by namespace; empty: the framework."""
    pairs = (line.split(" ") for line in _lines("csharp_names"))
    named = {namespace: "" if package == "-" else package for namespace, package in pairs}
    alike = {name: name for name in _lines("csharp_popular") if not name.startswith("Microsoft.AspNetCore.")}
    return {**alike, **named}


def package_of(namespace: str) -> str | None:
    """Return the package that provides *namespace*; empty: the framework; None: not known."""
    known = namespaces()
    parts = namespace.split(".")
    for length in range(len(parts), 0, -1):
        found = known.get(".".join(parts[:length]))
        if found is not None:
            return found
    return None


@cache
def traces(kind: str) -> Mapping[str, tuple[Trace, ...]]:
    """Return traces of a *kind* (`word`, `file`, `property`, `rule`, `command`, `sdk`, `using`) by their sign."""
    found: dict[str, list[Trace]] = defaultdict(list)
    for line in _lines("csharp_traces"):
        package, *signs = re.split(r" (?=[a-z-]+:)", line)
        for text in signs:
            name, _, rest = text.partition(":")
            rest, _, opened = rest.partition("@")
            sign, _, beside = rest.partition("~" if name == "file" else "+")
            if name.removeprefix("old-") == kind:
                found[sign].append(Trace(package, sign, beside, opened, name.startswith("old-")))
    return {sign: tuple(ones) for sign, ones in found.items()}


@cache
def _brings() -> Mapping[str, frozenset[str]]:
    return {name: frozenset(rest) for name, *rest in (line.split(" ") for line in _lines("csharp_brings"))}


@cache
def brought_by(package: str) -> frozenset[str]:
    """Return the packages that come along with *package*, those of its packages included."""
    found: set[str] = set()
    pending = [package]
    while pending:
        for name in _brings().get(pending.pop(), frozenset()) - found:
            found.add(name)
            pending.append(name)
    return frozenset(found)


def brought_along(packages: Iterable[str]) -> frozenset[str]:
    """Return the packages that come along with any of *packages*."""
    return frozenset().union(*map(brought_by, packages))


_RUNNERS: Mapping[str, tuple[str, ...]] = {
    "xunit": ("Microsoft.NET.Test.Sdk", "xunit.runner.visualstudio", "coverlet.collector"),
    "xunit.v3": ("Microsoft.NET.Test.Sdk", "xunit.runner.visualstudio", "coverlet.collector"),
    "xunit.v3.mtp-v2": (),
    "NUnit": ("Microsoft.NET.Test.Sdk", "NUnit3TestAdapter", "NUnit.Analyzers", "coverlet.collector"),
    "MSTest.TestFramework": ("Microsoft.NET.Test.Sdk", "MSTest.TestAdapter", "coverlet.collector"),
    "TUnit": (),
}
"""What `dotnet new` puts beside a test framework. No source file names it; without an adapter no test runs."""
TEST_FRAMEWORKS = frozenset(_RUNNERS)
_ATTRIBUTES = {
    "xunit": words("Fact Theory"),
    "MSTest.TestFramework": words("TestMethod DataTestMethod"),
    "NUnit": words("TestCase TestCaseSource"),
    "TUnit": words("Test"),
}
"""In the order of asking: `Test` is an attribute of two."""
TEST_ATTRIBUTES = frozenset().union(*_ATTRIBUTES.values()) | words("SkippableFact SkippableTheory StaFact UIFact")
PLATFORM_PROPERTIES = words("usemicrosofttestingplatformrunner testingplatformdotnettestsupport")


def runners_of(packages: Collection[str]) -> tuple[str, ...]:
    """Return what a project needs besides the test frameworks among its *packages*, so that its tests run."""
    return tuple(dict.fromkeys(name for one in packages for name in _RUNNERS.get(one, ())))


def framework_of(attributes: Collection[str]) -> str | None:
    """Return the test framework that has these attributes, for a project in which no file names it."""
    return next((name for name, known in _ATTRIBUTES.items() if not known.isdisjoint(attributes)), None)
