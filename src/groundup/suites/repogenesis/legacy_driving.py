"""What the older scripts' driver is told, and what it prints: the same for Python and Java."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from groundup.domain.records import Record
from groundup.sandbox.protocol import CommandResult
from groundup.suites.repogenesis.driving import REPOSITORY
from groundup.suites.repogenesis.legacy_rules import TIMEOUT

LEGACY_DRIVER = "legacy_driver.py"
HANGING_S = 30.0
"""How long a script that ended may keep its output open."""
_Number = Annotated[int, Field(ge=0, lt=10**9)]


class LegacyOutcome(Record):
    """What the driver prints; the tested service may have forged it."""

    exit_code: int | None = None
    output: str = ""
    install: str | None = None
    hanging: bool = False
    late: bool = False
    reports: tuple[tuple[_Number, _Number, _Number, _Number], ...] | None = Field(
        default=None, description="tests, failures, errors and skips of each of Surefire's; None: there were none"
    )
    is_readable: bool = Field(default=True, description="False: it printed nothing that can be read")


def read_outcome(result: CommandResult) -> LegacyOutcome:
    """Return what the driver's last line says; nothing of one that was ended for its time."""
    if result.ending.is_out_of_time:
        return LegacyOutcome(output=TIMEOUT, is_readable=False)
    lines = result.stdout.strip().splitlines()
    try:
        return LegacyOutcome.model_validate_json(lines[-1] if lines else b"")
    except ValidationError:
        return LegacyOutcome(is_readable=False)


def seen_inside(repository: Path, path: Path) -> str:
    """Return where the driver sees *path* of *repository*."""
    relative = path.relative_to(repository)
    return f"{REPOSITORY}/{relative}" if relative.parts else REPOSITORY
