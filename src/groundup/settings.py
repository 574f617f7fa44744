"""Settings: defaults < groundup.toml < environment (GROUNDUP_*) < flags, checked."""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from groundup.configuration import (
    CONFIG_FILE,
    PREFIX,
    VariableWarning,
    default_cache,
    environment,
    gathered,
    origin,
)
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import SettingRecord, plainly
from groundup.domain.replaced_flags import refuse_gone

__all__ = ["CONFIG_FILE", "PREFIX", "Settings", "environment", "load"]


class Settings(SettingRecord):
    """What a user can set once for all commands."""

    model_config = ConfigDict(allow_inf_nan=False)

    cache_dir: Path = Field(
        default_factory=default_cache, description="where environments, fetched packages and cached verdicts lie"
    )
    data_dir: Path | None = Field(
        default=None, description="where pulled data of suites lies (default: in the cache)"
    )
    output: Path = Field(default=Path("runs"), description="where run folders are made")
    jobs: int = Field(
        default_factory=lambda: len(os.sched_getaffinity(0)), ge=1, description="attempts graded at once"
    )
    agent_jobs: int | None = Field(
        default=None, ge=1, description="attempts that agents make at once (default: as jobs)"
    )
    sandbox: str = Field(
        default="bubblewrap",
        description="where submissions run: bubblewrap, docker or podman; docker@NAME adds an image",
    )
    image: str | None = Field(
        default=None,
        description="image of the sandboxes, by its name or a file; {task} and {published} stand for "
        "each task's own (default: this machine's programs)",
    )
    builder: str = Field(default="local", description="what builds environments, such as local")
    memory_share: float = Field(
        default=0.8, gt=0, le=1, description="share of the machine's memory that attempts may reserve"
    )
    retries: int = Field(
        default=2, ge=0, description="how often an attempt is tried again at once when its infrastructure failed"
    )
    retry_delay_s: float = Field(default=2.0, ge=0, description="seconds before each of these tries")
    official_installs: Literal["open", "no-original", "none"] = Field(
        default="open",
        description="what installers of `official` graders may fetch: open (everything, as published), "
        "no-original (all but the task's library), or none",
    )
    agent_environment: Literal["task", "empty"] = Field(
        default="task",
        description="what agents find installed besides pip and pytest: task (as in the task's published image, "
        "without copies of the original), or empty (nothing)",
    )
    agent_base: str = Field(
        default="host",
        description="whose programs agents have besides Python: host (this machine's), listed (a fixed list of "
        "them), or those of an image, by its name or a file; the lock says which",
    )
    python: str | None = Field(
        default=None,
        pattern=r"^3\.\d+$",
        description="one interpreter for all tasks of NL2RepoBench, and for RepoGenesis' strict grader, such as "
        "3.13, where their own are absent; a service whose task.toml names one keeps it; "
        "verdicts then say stand-in, and are not to be compared with others",
    )
    git_mirror: str | None = Field(
        default=None,
        description="where Git repositories are fetched before their own hosts are asked: an address or folder to "
        "which host/owner/name is appended, or a pattern with {host}, {owner} and {name}",
    )
    registry_cache: bool = Field(default=True, description="keep fetched packages, for work without network")
    resolutions_s: float = Field(
        default=24 * 3600.0,
        ge=0,
        description="seconds for which the versions that a submission's requirements resolved to are reused; 0: "
        "resolve each time",
    )

    registry: str = Field(
        default="live",
        description="who says which packages exist (DI-Bench): live (the registries), none, or a snapshot's path",
    )

    ci_timeout_s: float = Field(default=1800.0, gt=0, description="seconds for a repository's CI job")
    ci_exclude_newer: str = Field(
        default="commit",
        description="the last day whose packages exist for CI jobs: commit (the day of the instance's commit), a "
        "date, or none (all days)",
    )

    @property
    def has_unpacked_images(self) -> bool:
        """Whether sandboxes are made from an image without an engine, or from one for each task."""
        return self.image is not None and self.sandbox.partition("@")[0] == "bubblewrap"

    @property
    def has_image_for_agents(self) -> bool:
        """Whether agents have the programs of an image."""
        return self.agent_base not in ("host", "listed")

    @property
    def data(self) -> Path:
        """Where pulled suite data lies."""
        return self.data_dir or self.cache_dir / "data"


def load(flags: Mapping[str, object] | None = None, config: Path | None = None) -> Settings:
    """Merge all sources; a flag that is None is not set.

    Raises `UsageError`, and warns of variables that set nothing.
    """
    known = Settings.model_fields
    flags = flags or {}
    _warn_of_variables([PREFIX + name.upper() for name in known])
    values = gathered(known, flags, config)
    for name, value in values.items():
        refuse_gone(name, value)
        if name not in known:
            raise UsageError(f"{origin(name, flags, config)}: {unknown('setting', name, known)}")
    return _checked(values, flags, config)


def with_flags(base: Settings | None, flags: Mapping[str, object]) -> Settings:
    """Return *base* (None: what file and environment say) with *flags* on top that are not None.

    Raises `UsageError`.
    """
    if base is None:
        return load(flags)
    return _checked({**dict(base), **{name: value for name, value in flags.items() if value is not None}}, flags)


def _checked(values: Mapping[str, object], flags: Mapping[str, object], config: Path | None = None) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise UsageError(f"{origin(name, flags, config)}: {plainly(first)}") from error


_NO_SETTINGS = ("GROUNDUP_TOKEN", "GROUNDUP_TEST_SEED")
"""Variables of ours that are no settings, beside those of keys."""
_warned: set[str] = set()
"""Variables that this process has warned of; Python's own count is by the line that loads settings."""


def _warn_of_variables(known: Sequence[str]) -> None:
    for name in sorted(environment()):
        # The setting `key_variable` lets the variable of a key have any name.
        is_known = name.endswith("_KEY") or name in (*known, *_NO_SETTINGS)
        if name.startswith(PREFIX) and not is_known and name not in _warned:
            _warned.add(name)
            warnings.warn(unknown("variable", name, known), VariableWarning, stacklevel=3)
