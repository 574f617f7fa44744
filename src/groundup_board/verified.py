"""Records that somebody verified a bundle: what lets it onto a board."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from groundup.api.flags import AnyPath
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.store.ownership import digest_of_file, write_made
from groundup.trees.walking import read_regular
from groundup.trees.writer import disk_errors
from groundup_board.bundles import SUFFIX
from groundup_board.verification import Verification

NOT_STATED = "not stated"
_RECORD_BYTES = 1024**2


class VerificationFile(Record):
    """That somebody graded a sample of a bundle again: what lets the bundle onto a board."""

    format: Literal[1] = 1
    bundle: str = Field(description="its SHA-256")
    by: str = Field(description="who says so")
    at: datetime
    groundup: str = Field(description="version")
    verification: Verification


def record(bundle: AnyPath, found: Verification, verified: AnyPath, by: str = NOT_STATED) -> Path:
    """Note in the folder *verified*, for `build`, what *found* says of *bundle*, as said *by*; return the file."""
    noted = VerificationFile(
        bundle=digest_of_file(Path(bundle)), by=by, at=datetime.now(UTC), groundup=__version__, verification=found
    )
    path = Path(verified) / record_name(Path(bundle))
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_made(path, noted.model_dump_json(indent=1).encode() + b"\n")
    return path


def record_name(bundle: Path) -> str:
    """Return the name of the file that says whether *bundle* was verified."""
    return f"{bundle.name.removesuffix(SUFFIX)}.json"


def read_record(path: Path) -> VerificationFile | None:
    """Return what `record` wrote to *path*; None for anything else."""
    try:
        return VerificationFile.model_validate_json(read_regular(path, _RECORD_BYTES))
    except (OSError, ValidationError):
        return None
