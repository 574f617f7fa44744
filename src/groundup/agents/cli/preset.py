"""Presets: what groundup has to know of a program to run it as an agent, as a small TOML file.

Owns the record, reading it, and `name@version`. Says nothing of how it is installed or run. docs/agents.md
explains the keys.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, StringConstraints, ValidationError

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record, plainly
from groundup.environments.requests import ProgramRequest
from groundup.trees.digest import tree_digest
from groundup.trees.walking import LARGE, read_regular

SUFFIX = ".toml"
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$")]


def _in_home(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("must be a path below the program's HOME")
    return path


InHome = Annotated[str, AfterValidator(_in_home)]
"""A path below the program's HOME."""
OwnName = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$")]


class Install(Record):
    """Where a program comes from. Its version is never the preset's: the user pins it."""

    registry: Literal["pypi", "npm"]
    package: str
    python: str = Field(default="3.12", pattern=r"^3\.\d+$", description="minor version, for `pypi`")
    also: tuple[str, ...] = Field(default=(), description="further requirements that it needs and does not name")
    without: tuple[str, ...] = Field(
        default=(), description="packages that it names and this use of it never loads; not installed"
    )

    def request(self, version: str, exclude_newer: str | None = None) -> ProgramRequest:
        """Return what to ask of the environment builder."""
        return ProgramRequest(version=version, exclude_newer=exclude_newer, **self.model_dump())


class PresetTrial(Record):
    """One time that the preset was tried for real."""

    version: str
    model: str
    what: str


class EndedProgram(Record):
    """A program that its makers have given up."""

    version: str = Field(description="the last one that works")
    why: str


class Preset(Record):
    """A program, ready to be run. Placeholders in braces are filled in, see docs/agents.md."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    description: str
    install: Install | None = Field(default=None, description="None: the program is in the sandbox already")
    protocol: Literal["chat", "responses", "messages", "gemini", "none"] = Field(
        description="how it asks its model; none: it has no model"
    )
    run: tuple[str, ...] = Field(min_length=1, description="the program, without a shell, and its arguments")
    stdin: str = ""
    cwd: str = "{workspace}"
    environment: dict[str, str] = {}
    files: dict[InHome, str] = Field(
        default={}, description="path below its HOME -> text, written before it starts"
    )
    bring: dict[OwnName, Path] = Field(
        default={},
        description="name below {own} -> a file or folder of this machine, by its path from the preset's file",
    )
    trajectory: tuple[InHome, ...] = Field(
        default=(), description="shell patterns of the files below its HOME that say what it did"
    )
    success: tuple[int, ...] = Field(default=(0,), description="exit codes with which it says that it is done")
    min_memory_mb: int | None = Field(default=None, ge=64, description="without which it does not work")
    ended: EndedProgram | None = Field(default=None, description="None: there are further versions of it")
    trials: tuple[PresetTrial, ...] = Field(default=(), description="empty: untested")
    notes: str = ""

    @cached_property
    def brought(self) -> Mapping[str, str]:
        """Return the digests of what it brings: by them a run knows it again."""
        return {
            name: tree_digest(place).digest if place.is_dir() else digest_bytes(read_regular(place, LARGE))
            for name, place in self.bring.items()
        }

    @property
    def proved(self) -> str | None:
        return self.trials[-1].version if self.trials else None


class Chosen(NamedTuple):
    """A preset with the version that the user pinned."""

    preset: Preset
    version: str | None


def preset_names() -> list[str]:
    return sorted(entry.name.removesuffix(SUFFIX) for entry in _folder().iterdir() if entry.name.endswith(SUFFIX))


def absent_programs() -> dict[str, str]:
    """Return programs that no preset can install, with the reason."""
    return dict(tomllib.loads((files("groundup.agents.cli") / "absent.toml").read_text(encoding="utf-8")))


def choose(text: str) -> Chosen:
    """Return what `name@version`, or the path of a preset's file with or without `@version`, names.

    Without a version it is the one that was tried last. Raises `UsageError`, also where an installed
    program has neither.
    """
    name, version = _parts(text)
    preset = _from_path(Path(name)) if name.endswith(SUFFIX) else shipped_preset(name)
    if preset.install is None:
        if version:
            raise UsageError(f"preset {preset.name} installs nothing, so it has no version: leave out @{version}")
        return Chosen(preset, None)
    version = preset.proved or "" if version is None else version
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}", version):
        raise UsageError(f"name the version of {preset.name}, such as {preset.name}@{preset.proved or '1.2.3'}")
    return Chosen(preset, version)


def pinned_program(text: str) -> str | None:
    """Return *text*, a program's name or a preset's file, with its version; None for what is neither of them.

    Raises `UsageError` as `choose` does.
    """
    name, _ = _parts(text)
    if not name.endswith(SUFFIX) and name not in preset_names():
        if reason := absent_programs().get(name):
            raise UsageError(
                f"{name} cannot be installed: {reason}; a preset of your own is a path (docs/agents.md)"
            )
        return None
    version = choose(text).version
    return name if version is None else f"{name}@{version}"


def parse_preset(text: str, origin: str) -> Preset:
    """Return the preset in *text*; *origin* names it in errors. Raises `UsageError`."""
    try:
        return Preset.model_validate(tomllib.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{origin}: {where}: {plainly(first)}; see docs/agents.md") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin}: not valid TOML: {error}; mend the file") from error


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return *text* with `{name}` replaced for the names in *values*; all other braces stay as they are."""
    pattern = "|".join(re.escape(name) for name in values)
    return re.sub(rf"\{{({pattern})\}}", lambda found: values[found[1]], text) if values else text


def _folder() -> Traversable:
    return files("groundup.agents.cli") / "presets"


def _parts(text: str) -> tuple[str, str | None]:
    """Return name and version of *text*; a path may hold an `@` of its own."""
    name, separator, version = text.rpartition("@")
    if not separator or (SUFFIX in version and not name.endswith(SUFFIX)):
        return text, None
    return name, version


def shipped_preset(name: str) -> Preset:
    """Return the preset that comes with groundup. Raises `UsageError`."""
    if name not in preset_names():
        raise UsageError(unknown("preset", name, preset_names()) + f"; your own is a path that ends in {SUFFIX}")
    return parse_preset((_folder() / f"{name}{SUFFIX}").read_text(encoding="utf-8"), f"{name}{SUFFIX}")


def _from_path(path: Path) -> Preset:
    try:
        preset = parse_preset(read_regular(path).decode("utf-8-sig"), str(path))
    except OSError as error:
        raise UsageError(f"{path}: the preset cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the preset is not UTF-8 (byte {error.start + 1})") from error
    brought = {name: (path.parent / place.expanduser()).absolute() for name, place in preset.bring.items()}
    for name, place in brought.items():
        if not place.exists():
            raise UsageError(
                f"{path}: bring: there is no {place}; name what {name} is, by its path from this file"
            )
    return preset.but(bring=brought)
