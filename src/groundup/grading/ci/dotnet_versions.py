"""What stands for SDKs and runtimes that a repository in C# asks for and this machine has not.

A `global.json` is rewritten in a job's copy where it refuses every SDK that is here. Programs for an older runtime
run on a newer one. What only a newer SDK warns of is no warning, because repositories make errors of warnings.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from groundup.domain.records import Record
from groundup.languages.formats import files_of
from groundup.sources.project_files import has_trailing_commas, json_of

_ROLL_FORWARD = {"DOTNET_ROLL_FORWARD": "Major", "DOTNET_ROLL_FORWARD_TO_PRERELEASE": "1"}
"""Has programs run on the next newer runtime where theirs is not here."""
END_COMPILER = (
    "sh",
    "-c",
    'for p in $(grep -ls "[V]BCSCompiler" /proc/[0-9]*/cmdline); do p=${p#/proc/}; p=${p%/*}; kill -9 $p; n=0; '
    "while kill -0 $p 2>/dev/null && [ $n -lt 160 ]; do sleep 0.05; n=$((n+1)); done; done",
)
"""Ends the compiler server that a build leaves: its projects share it, and without it each costs a third more."""
_RAN = re.compile(
    rb"^Test run for .{1,500} \(\.NETCoreApp,Version=v(\d+\.\d+)\)"
    rb"|^Running tests from .{1,500}/net(\d+\.\d+)/[^/\n]{1,200} \(net\d",
    re.MULTILINE,
)
"""What `dotnet test` says of the framework of tests."""
_OTHERWISE = re.compile(
    rb"NU1603: .{0,300}?depends on (?P<name>[\w.-]{1,100}) \(>= (?P<wanted>[\w.+-]{1,60})\) but .{0,200}?"
    rb"(?:An approximate best match of |)(?P=name) (?P<taken>[\w.+-]{1,60}) was resolved",
    re.IGNORECASE,
)


class DotNetVersions(Record):
    """What a job's steps get of .NET."""

    sdks: tuple[str, ...]
    """Those of this machine, the oldest first."""
    runtimes: tuple[str, ...]
    variables: dict[str, str] = {}
    substitutes: tuple[str, ...] = ()

    def fit(self, tree: Path) -> Iterator[str]:
        """Rewrite each `global.json` below *tree* that refuses all SDKs; yield what stands for what."""
        for path, data in _global_jsons(tree):
            fitted = fitted_global_json(data, self.sdks)
            if fitted is not None:
                (tree / path).write_bytes(fitted[0])
                yield f"SDK {fitted[1]} ({path})"

    def resolved_otherwise(self, log: bytes) -> Iterator[str]:
        """Yield which version NuGet took in the place of each declared one that no registry has."""
        found = {match["name"].decode(): match for match in _OTHERWISE.finditer(log)}
        for name, match in found.items():
            yield f"{name} {match['taken'].decode()} for {match['wanted'].decode()}"

    def rolled_forward(self, log: bytes) -> Iterator[str]:
        """Yield which runtime stood for each that tests of the job were built for and that is not here."""
        here = {_number(version): version for version in self.runtimes}
        for framework in dict.fromkeys((found[1] or found[2]).decode() for found in _RAN.finditer(log)):
            newer = [number for number in here if number > _number(framework)]
            if _number(framework) not in here and newer:
                yield f"runtime {here[min(newer)]} for .NET {framework}"


def dotnet_versions(
    beside: Mapping[str, Sequence[str]], asked: Sequence[str], tree: Path, folder: Path, inside: str
) -> DotNetVersions:
    """Return what the steps of a job get that sets up the SDKs *asked*, over the repository *tree*.

    *beside* are the toolchain's versions. What MSBuild reads is written into *folder*, which is seen at *inside*.
    """
    sdks = tuple(beside.get("SDK", ()))
    pinned = [_asked(json_of(data)) for _, data in _global_jsons(tree)]
    newer = bool(sdks) and _is_newer(sdks[-1], (*asked, *pinned))
    return DotNetVersions(
        sdks=sdks,
        runtimes=tuple(beside.get("runtime", ())),
        variables=_ROLL_FORWARD | (_without_newer_warnings(folder, inside) if newer else {}),
        substitutes=(f"no warnings that only SDK {sdks[-1]} knows",) if newer else (),
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _is_newer(sdk: str, asked: Sequence[str]) -> bool:
    """Whether *sdk* is of a newer release than all that a job asks for, where it asks for one."""
    have = re.match(r"\d+", sdk)
    majors = [int(match[0]) for one in asked if (match := re.match(r"\d+", one.strip()))]
    return bool(majors) and have is not None and int(have[0]) > max(majors)


class SdkVersion(NamedTuple):
    """Such as 9.0.304: a patch of the feature band 9.0.300."""

    major: int
    minor: int
    band: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> "SdkVersion | None":
        """Return the version, without what marks a preview; None for what is no whole version."""
        match = re.match(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})", text)
        return cls(int(match[1]), int(match[2]), int(match[3]) // 100, int(match[3]) % 100) if match else None


_KEPT_PARTS = {
    "disable": 4, "patch": 3, "latestpatch": 3, "feature": 2, "latestfeature": 2, "minor": 1, "latestminor": 1,
    "major": 0, "latestmajor": 0,
}  # fmt: skip
"""Policies of rolling forward: how many parts of a version must be the same."""
_ELSEWHERE = frozenset({"paths", "workloadVersion"})
"""What a `global.json` may ask for that lies in no SDK of this machine."""
_LONGEST = 64 * 1024


def _global_jsons(tree: Path) -> Iterator[tuple[str, bytes]]:
    for path in files_of(tree):
        if PurePosixPath(path).name == "global.json" and (tree / path).stat().st_size <= _LONGEST:
            yield path, (tree / path).read_bytes()


def fitted_global_json(data: bytes, sdks: Sequence[str]) -> tuple[bytes, str] | None:
    """Return a `global.json` by which one of *sdks*, the oldest first, is taken, and which one for which.

    None where it takes one as it is, or cannot be read. What it says of test runners and of MSBuild's SDKs stays.
    """
    document = json_of(data)
    asked = _asked(document)
    wanted = SdkVersion.parse(asked)
    here = {version: name for name in sdks if (version := SdkVersion.parse(name))}
    if wanted is None or not here:
        return None
    sdk = document["sdk"]
    assert isinstance(sdk, dict)
    kept = _KEPT_PARTS.get(str(sdk.get("rollForward", "latestPatch")).lower(), 3)
    fits = any(have >= wanted and have[:kept] == wanted[:kept] for have in here)
    # `dotnet test` of SDK 10 breaks on a comma at the end of a list.
    if fits and not _ELSEWHERE & sdk.keys() and not has_trailing_commas(data.decode(errors="replace")):
        return None
    # The next newer one, as it is taken where a developer lacks the right one; else the newest.
    chosen = min((have for have in here if have >= wanted), default=max(here))
    pinned: dict[str, JsonValue] = {"version": here[chosen], "rollForward": "latestPatch", "allowPrerelease": True}
    written = json.dumps({**document, "sdk": pinned}, indent=2) + "\n"
    return written.encode(), f"{here[chosen]} for {asked[:40]}"


def _asked(document: Mapping[str, JsonValue]) -> str:
    """Return the SDK that a `global.json` names; "" for none."""
    sdk = document.get("sdk")
    version = sdk.get("version") if isinstance(sdk, dict) else None
    return version if isinstance(version, str) else ""


_NEWER_WARNINGS: Mapping[str, tuple[int | range, ...]] = {
    "NETSDK": (1138, 1194, 1201, 1206, range(1210, 1213)),
    "NU": (1510, 1511),
    "CS": (9258, 9264, 9266),
    "CA": (
        1311, range(1420, 1423), range(1510, 1517), range(1850, 1881), range(2019, 2028), range(2259, 2270),
    ),
}  # fmt: skip
"""Warnings that came with the SDKs 7 to 10: old frameworks, needless references, new words, rules of analyzers."""


def _without_newer_warnings(folder: Path, inside: str) -> dict[str, str]:
    """Write what MSBuild reads after each project into *folder*, seen at *inside*; return the variable for it.

    `-warnaserror`, which counts more than what a project says of single warnings, makes no error of these either.
    """
    codes = [
        f"{letters}{one}"
        for letters, numbers in _NEWER_WARNINGS.items()
        for number in numbers
        for one in ([number] if isinstance(number, int) else number)
    ]
    text = f"<Project><PropertyGroup><NoWarn>$(NoWarn);{';'.join(codes)}</NoWarn></PropertyGroup></Project>\n"
    (folder / "newer-sdk.props").write_text(text, encoding="utf-8")
    return {"CustomBeforeMicrosoftCommonTargets": f"{inside}/newer-sdk.props"}
