"""From flags to the records that the rest of the program takes. Imports what is heavy; commands import it late."""

from pathlib import Path

from groundup.cli.options import Judging, Making, Selection, Work, names
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.runs.options import RunOptions
from groundup.settings import Settings, load


def settings_from(
    *,
    output: Path | None = None,
    sandbox: str | None = None,
    jobs: int | None = None,
    config: Path | None = None,
) -> Settings:
    """Return the settings, of the file *config* or of `groundup.toml`, with these flags on top."""
    return load({"output": output, "sandbox": sandbox, "jobs": jobs}, config)


def money(flag: str, usd: float | None) -> float | None:
    """Return the limit *usd* that the user gives with *flag*. Raises `UsageError` for one that allows nothing."""
    if usd is not None and not 0 < usd < float("inf"):
        raise UsageError(
            f"{flag} {usd:g} is no limit to spend up to; name a sum above 0, or leave it out for none"
        )
    return usd


def run_options(work: Work, settings: Settings, making: Making | None = None) -> RunOptions:
    """Return how to work on a run."""
    making = making or Making()
    return RunOptions(
        agent_jobs=making.agent_jobs or settings.agent_jobs,
        generate_only=making.generate_only,
        max_cost_usd=money("--max-cost", making.max_cost),
        prices=str(making.prices.absolute()) if making.prices else None,
        price=making.price,
        model_concurrency=making.model_jobs or 64,
        reuse_replies=making.reuse_replies,
        jobs=settings.jobs,
        memory_share=settings.memory_share,
        retries=settings.retries,
        retry_delay_s=settings.retry_delay_s,
        use_cache=not work.no_cache,
        keep=work.keep,
        trusted=work.trusted,
    )


def named_again(selection: Selection, judging: Judging) -> dict[str, object]:
    """Return the fields of a run's configuration that the user named, for a run that has one already."""
    if selection.limit is not None:
        raise UsageError("--limit draws the tasks of a new run; this one has its tasks, name some with --tasks")
    given: dict[str, object] = {
        "tasks": names(selection.tasks, "--tasks"),
        "exclude": selection.excluded(),
        "attempts": selection.attempts,
        "grader": judging.grader_name(),
        "timeout_s": judging.timeout,
        "sandbox": judging.sandbox,
    }
    return {name: value for name, value in given.items() if value is not None}


def run_folder(run: str, settings: Settings) -> Path:
    """Return the folder of *run*: a path, or an id in the output folder. Raises `UsageError`."""
    given, inside = Path(run), settings.output / run
    for folder in (given, inside):
        if (folder / "config.json").is_file():
            return folder
    if given.is_dir():
        raise UsageError(f"{run} is not a run folder: it has no config.json")
    runs = [path.parent.name for path in settings.output.glob("*/config.json")]
    raise UsageError(f"{unknown('run', run, runs)} (looked in {settings.output}; --output names another folder)")
