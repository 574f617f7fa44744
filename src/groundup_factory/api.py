"""Sets from Python, as `groundup curate set` makes them."""

import asyncio
from collections.abc import Callable

from groundup.domain.errors import UsageError
from groundup.settings import Settings, load
from groundup.suites.sets import MANIFEST
from groundup_factory.sets import SET_WORKERS, SetRequest, SetYield, make_set


def curate_set(
    request: SetRequest,
    *,
    workers: str | None = None,
    settings: Settings | None = None,
    tell: Callable[[str, str], None] = lambda task, line: None,
) -> SetYield:
    """Make the set that *request* asks for; called again, it goes on with what is left.

    *workers*: the address of a fleet, or its file; *tell* gets a task and a line about it. A notebook, whose loop
    runs already, awaits `groundup_factory.sets.make_set`. Raises `UsageError`.
    """
    if not request.entries and not (request.folder / MANIFEST).is_file():
        raise UsageError("name a library or a repository, or a file of them with --list")
    chosen = settings or load()
    if workers is None:
        return asyncio.run(make_set(request, chosen, tell))
    return asyncio.run(SET_WORKERS.find("dask")(workers, request, chosen, tell))
