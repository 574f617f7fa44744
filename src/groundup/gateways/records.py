"""What gateways tell about their work: what was fetched, and what could not be."""

from typing import Literal

from pydantic import Field

from groundup.domain.errors import GroundupError
from groundup.domain.records import Record


class Fetched(Record):
    """One thing that a gateway gave out."""

    kind: Literal["page", "file", "metadata"]
    name: str
    filename: str | None = None
    version: str | None = None
    sha256: str | None = None
    bytes: int = 0
    from_cache: bool = False
    stale: bool = Field(default=False, description="the registry could not be reached: an older page was given")
    verified: bool = Field(
        default=True, description="whether the registry named a hash that it was checked against"
    )


class Trouble(Record):
    """One thing that a gateway could not or would not give out; the builder tells who is to blame from these."""

    kind: Literal["refused", "unknown", "network", "budget"]
    name: str
    message: str


class UnknownPackageError(GroundupError):
    """A registry answers, and does not have what was asked for. Whoever asked decides who is to blame."""
