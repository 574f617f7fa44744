"""Dates that registries and rules name: when something was published, and the cut-off beyond it."""

import re
from datetime import UTC, datetime, timedelta

from groundup.domain.errors import UsageError
from groundup.domain.records import Record


class Published(Record):
    """Something with a date of publication, where its registry names one."""

    published: datetime | None = None

    def published_by(self, cutoff: datetime) -> bool:
        """Whether it is known to have been there at *cutoff*; without a date it is not."""
        return self.published is not None and self.published <= cutoff


def instant(text: object) -> datetime | None:
    """Return the moment that *text* names, in UTC where it names no zone; None when it names none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def cutoff_instant(text: str) -> datetime:
    """Return the first instant that an `exclude_newer` of *text* leaves out; a bare date counts to its end in UTC.

    Raises `UsageError`.
    """
    found = instant(text)
    if found is None:
        raise UsageError(f"the cut-off {text[:80]!r} is not an RFC 3339 date such as 2024-01-31")
    return found + timedelta(days=1) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else found
