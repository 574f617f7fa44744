"""Settings: defaults < groundup.toml < environment (GROUNDUP_*) < flags, checked."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from groundup.configuration import CONFIG_FILE, PREFIX, default_cache, environment, gathered, origin
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record, plainly

__all__ = ["CONFIG_FILE", "PREFIX", "Settings", "environment", "load"]


class Settings(Record):
    """What a user can set once for all commands."""

    model_config = ConfigDict(allow_inf_nan=False)

    cache_dir: Path = Field(default_factory=default_cache, description="layers, fetched packages, verdict cache")
    data_dir: Path | None = Field(default=None, description="pulled suite data; None: inside the cache")
    output: Path = Field(default=Path("runs"), description="where run folders are made")
    jobs: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, description="attempts at once")
    agent_jobs: int | None = Field(
        default=None, ge=1, description="attempts at making submissions at once; None: as many as jobs"
    )
    sandbox: str = Field(
        default="bubblewrap",
        description="bubblewrap, docker or podman (with an image: docker@NAME), none or fake",
    )
    image: str | None = Field(
        default=None,
        description="what containers are made from, with {task} or {published} for each task its own; None: this "
        "machine's programs",
    )
    trust_code: bool = Field(default=False, description="let submitted code run without a sandbox")
    builder: str = Field(default="local", description="who builds environments")
    memory_share: float = Field(
        default=0.8, gt=0, le=1, description="of the machine's memory that attempts may reserve"
    )
    retries: int = Field(default=2, ge=0, description="of an attempt whose infrastructure failed, in one start")
    retry_delay_s: float = Field(default=2.0, ge=0, description="before each of them")
    official_installs: Literal["open", "no-original", "none"] = Field(
        default="open",
        description="what installers run by `official` graders may fetch from the package index: everything as "
        "published, all but the task's own library, or nothing",
    )
    agent_environment: Literal["task", "empty"] = Field(
        default="task",
        description="what agents find installed besides pip and pytest: the packages of the task's published "
        "image, as far as its suite knows them and none brings a copy of the original; or nothing",
    )
    python: str | None = Field(
        default=None,
        pattern=r"^3\.\d+$",
        description="interpreter for NL2RepoBench's tests in place of each recipe's own, such as 3.13, where no "
        "other is at hand; verdicts say so, and are not those of the published environment",
    )
    git_mirror: str | None = Field(
        default=None,
        description="where originals' Git repositories are fetched from before their own hosts: an address or "
        "folder to which host/owner/name is appended, or a pattern with {host}, {owner} and {name}",
    )
    registry_cache: bool = Field(default=True, description="keep fetched packages for offline use")
    resolutions_s: float = Field(
        default=24 * 3600.0,
        ge=0,
        description="how long the versions that a submission's unlocked requirements came to are taken again, "
        "seconds; 0: resolve each time",
    )

    registry: str = Field(
        default="live",
        description="who says which packages exist: live (the registries), none, or a snapshot's path",
    )

    ci_timeout_s: float = Field(default=1800.0, gt=0, description="of a repository's CI job")
    ci_exclude_newer: str = Field(
        default="commit",
        description="what registries have since does not exist for CI jobs: commit (the day of each instance's "
        "commit, where it is known), a date, or none",
    )

    @property
    def data(self) -> Path:
        """Where pulled suite data lies."""
        return self.data_dir or self.cache_dir / "data"


def load(flags: Mapping[str, object] | None = None, config: Path | None = None) -> Settings:
    """Merge all sources; a flag that is None is not set. Raises `UsageError`."""
    known = Settings.model_fields
    flags = flags or {}
    values = gathered(known, flags, config)
    for name in values:
        if name not in known:
            raise UsageError(f"{origin(name, flags, config)}: {unknown('setting', name, known)}")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise UsageError(f"{origin(name, flags, config)}: {plainly(first)}") from error
