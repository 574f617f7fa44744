"""A run as a program, for tests that send it signals: `python -m tests.runs.started FOLDER PROVIDER`.

Runs predictions that take long, one after the other; resumes when the folder exists. Says "stopping" when asked.
"""

import sys
from contextlib import suppress
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.runs.progress import Event, RunEnded, Warned
from groundup.settings import Settings
from groundup.store.records import Predictions, RunConfiguration
from tests.runs.configurations import BUILDER, SUITE


def main(folder: Path, provider: str) -> int:
    """Return the exit code of the run."""
    place = folder.parent
    settings = Settings(cache_dir=place / "cache", output=place, builder=BUILDER)
    predictions = Predictions(path=str(place / "predictions"))
    configuration = RunConfiguration(suite=SUITE, submissions=predictions, sandbox=provider)
    options = RunOptions(jobs=4, retries=0)
    try:
        if (folder / "config.json").exists():
            return api.Resumption(folder, options, settings).work(tell).exit_code
        return api.NewRun(configuration, options, settings, run_id=folder.name).work(tell).exit_code
    except KeyboardInterrupt:
        return 130
    except UsageError as error:
        print(error, flush=True)
        return 2


def tell(event: Event) -> None:
    """Print warnings and the names of other events, as long as there is somebody to read them."""
    if isinstance(event, RunEnded):
        assert event.standing.running == 0
    with suppress(OSError):
        print(event.message if isinstance(event, Warned) else type(event).__name__, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
