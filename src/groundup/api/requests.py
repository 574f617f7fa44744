"""From flags to the run that is asked for (`runs.api`), new or to be finished, which has not begun yet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from groundup.api.flags import (
    AnyPath,
    EvaluateFlags,
    GradingFlags,
    MakingFlags,
    RegradeFlags,
    ResumeFlags,
    RunFlags,
    SelectionFlags,
    VariantFlags,
    WorkFlags,
    flag_of,
    is_time,
    money,
    names,
    refuse_wrong_prices,
)
from groundup.api.folders import run_folder
from groundup.api.selection import chosen_tasks, refuse_unknown_tasks
from groundup.api.subjects import subject_of
from groundup.domain.durations import duration
from groundup.domain.errors import UsageError
from groundup.domain.names import names_image_file, unknown
from groundup.domain.records import plainly
from groundup.domain.replaced_flags import refuse_gone
from groundup.runs import api
from groundup.runs.api import NewRun, Resumption
from groundup.runs.plan import RunOptions
from groundup.runs.submissions import submissions_of
from groundup.settings import Settings, load, with_flags
from groundup.store.records import Ablated, Generated, Predictions, RunConfiguration, SubmissionsFrom
from groundup.suites.base import STATIC
from groundup.suites.opening import named_suite
from groundup.suites.places import with_variants

_OF_INTEGRITY = {"spot": "strict", "full": "full"}
"""The grader that goes so far."""
_FINITE = ConfigDict(allow_inf_nan=False)
"""A record with such a number could not be written as JSON."""


def evaluation(
    suite: str, predictions: AnyPath, *, settings: Settings | None = None, **flags: Unpack[EvaluateFlags]
) -> NewRun:
    """Return the run that grades *predictions*. Raises `UsageError`."""
    from groundup.runs.predictions import ablated_as, is_one_submission, model_named_in

    given: EvaluateFlags = checked(EvaluateFlags, flags)
    suite = _varied(suite, given, settings)
    refuse_unknown_tasks(suite, given.get("tasks"), _excluded(given), settings_for(given, settings))
    path = Path(predictions)
    task, chosen = names(given.get("task"), "--task") or (), names(given.get("tasks"), "--tasks") or ()
    if len(task) > 1 or chosen:  # both say which tasks; the folder says whether it is one repository
        given["tasks"] = chosen = tuple(dict.fromkeys((*task, *chosen)))
        task = chosen if len(chosen) == 1 and is_one_submission(path) else ()
    agent, model = given.get("agent_name"), given.get("model_name") or model_named_in(path)
    submissions: Ablated | Predictions = Predictions(
        path=str(path.absolute()),
        task=next(iter(task), None),
        agent_name=agent,
        model_name=model,
        strict_names=given.get("strict_names") or False,
    )
    if (ablated := ablated_as(path)) is not None:
        submissions = Ablated(
            path=submissions.path,
            task=submissions.task,
            agent_name=agent or ablated.agent,
            model_name=model or ablated.model,
            strict_names=submissions.strict_names,
            ablation=ablated.ablation,
            run=ablated.run,
        )
    return _new_run(suite, submissions, given, settings)


def running(suite: str, agent: str, *, settings: Settings | None = None, **flags: Unpack[RunFlags]) -> NewRun:
    """Return the run in which *agent* does the tasks of *suite*. Raises `UsageError`."""
    given: RunFlags = checked(RunFlags, flags)
    found = settings_for(given, settings)
    suite = _varied(suite, given, found)
    refuse_unknown_tasks(suite, given.get("tasks"), _excluded(given), found)
    submissions = submissions_of(suite, subject_of(agent, given), found)
    if given.get("generate_only") and not isinstance(submissions, Generated):
        raise UsageError(f"--generate-only: {agent} makes nothing, it hands in what is there; leave the flag out")
    return _new_run(suite, submissions, given, found)


def resumption(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[ResumeFlags]) -> Resumption:
    """Return how *run*, a folder or an id in the output folder, is finished. Raises `UsageError`."""
    given: ResumeFlags = checked(ResumeFlags, flags)
    found = _without_sandbox(given, settings)
    return Resumption(run_folder(run, found), _options(given, found), found)


def regrading(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[RegradeFlags]) -> NewRun:
    """Return the run that grades the submissions of *run* again, without the cache. Raises `UsageError`."""
    given: RegradeFlags = checked(RegradeFlags, flags)
    found = _without_sandbox(given, settings)
    folder = run_folder(run, found)
    changes = _named_again(given, found)
    return api.regrading(folder, _options(given, found), found, changes, given.get("run_id"))


def checked(kind: Any, flags: Mapping[str, object]) -> Any:
    """Return *flags* as the types that *kind* declares, without those that say nothing. Raises `UsageError`."""
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for name, value in flags.items():
        refuse_gone(name, value)
        if name not in hints:
            raise UsageError(unknown("option", name, hints))
        if value is None:
            continue
        try:
            is_boolean = isinstance(value, bool)  # which would be taken for 0 or 1 where a number is asked for
            found[name] = TypeAdapter(hints[name], config=_FINITE).validate_python(value, strict=is_boolean)
        except ValidationError as error:
            raise UsageError(f"{name}: {plainly(error.errors()[0])}") from error
        flag = flag_of(hints[name])
        if is_time(hints[name]) and isinstance(found[name], str):
            found[name] = _said_of(name, found[name])
        if flag is not None and flag.least is not None and not found[name] >= flag.least:
            raise UsageError(f"{name}: {found[name]} is too little; it must be at least {flag.least:g}")
        if flag is not None and flag.most is not None and not found[name] <= flag.most:
            raise UsageError(f"{name}: {found[name]} is too much; it must be at most {flag.most:g}")
    return found


def _said_of(name: str, text: str) -> float:
    try:
        return duration(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error


def settings_for(flags: WorkFlags | GradingFlags | Mapping[str, object], base: Settings | None) -> Settings:
    """Return *base* (None: as file and environment say) with those flags on top that are settings, too."""
    names = ("output", "sandbox", "image", "jobs", "agent_environment", "agent_base", "python")
    return with_flags(base, {name: flags.get(name) for name in names})


def _varied(suite: str, given: VariantFlags, settings: Settings | None) -> str:
    """Return *suite* in the form that flags ask for. Raises `UsageError`."""
    words = [*(["hints"] if given.get("hints") else ()), *([word] if (word := given.get("toolchain")) else ())]
    return with_variants(named_suite(suite, settings or load()), words) if words else suite


def _new_run(
    suite: str, submissions: SubmissionsFrom, given: EvaluateFlags | RunFlags, base: Settings | None
) -> NewRun:
    settings = settings_for(given, base)
    configuration = RunConfiguration(
        suite=suite,
        submissions=submissions,
        grader=_grader(given),
        tasks=chosen_tasks(given.get("tasks"), settings),
        exclude=_excluded(given) or (),
        attempts=given.get("attempts"),
        timeout_s=given.get("timeout"),
        sandbox=_sandbox(settings.sandbox, settings.image) or settings.sandbox,
    )
    return NewRun(
        configuration,
        _options(given, settings),
        settings,
        given.get("run_id"),
        only_predicted=bool(given.get("only_predicted")),
        limit=given.get("limit"),
        seed=given.get("seed") or 0,
    )


def _options(given: WorkFlags | MakingFlags, settings: Settings) -> RunOptions:
    flags: dict[str, Any] = dict(given)
    prices, price = flags.get("prices"), flags.get("price")
    refuse_wrong_prices(price, prices)
    return RunOptions(
        agent_jobs=flags.get("agent_jobs") or settings.agent_jobs,
        generate_only=flags.get("generate_only", False),
        max_cost_usd=money("--max-cost", flags.get("max_cost")),
        prices=str(Path(prices).absolute()) if prices else None,
        price=price,
        model_concurrency=flags.get("model_jobs") or 64,
        model_wait_s=flags.get("wait_for_model") or 0.0,
        reuse_replies=flags.get("reuse_replies", False),
        jobs=settings.jobs,
        memory_share=settings.memory_share,
        retries=settings.retries,
        retry_delay_s=settings.retry_delay_s,
        use_cache=not flags.get("no_cache", False),
        time_s=flags.get("time"),
        keep=flags.get("keep", False),
        workers=flags.get("workers"),
        agents_on_nodes=flags.get("agents_on_nodes", False),
    )


def _named_again(given: RegradeFlags, settings: Settings) -> dict[str, object]:
    """Return the fields of a run's configuration that the user named, for a run that has one already."""
    if given.get("limit") is not None:
        raise UsageError("--limit draws the tasks of a new run; this one has its tasks, name some with --tasks")
    changes: dict[str, object] = {
        "tasks": chosen_tasks(given.get("tasks"), settings),
        "exclude": _excluded(given),
        "attempts": given.get("attempts"),
        "grader": _grader(given),
        "timeout_s": given.get("timeout"),
        "sandbox": _sandbox(given.get("sandbox"), given.get("image")),
    }
    return {name: value for name, value in changes.items() if value is not None}


def _sandbox(name: str | None, image: str | None) -> str | None:
    """Return how a run's configuration names a sandbox that is made from *image*; None: the user named neither."""
    if image is None:
        return name
    if name is None and names_image_file(image):
        name = "bubblewrap"
    if name is None:
        raise UsageError(
            "--image says what containers are made from; say `--sandbox docker` or `podman`, too, or name a file"
        )
    return f"{name.partition('@')[0]}@{image}"


def _without_sandbox(given: WorkFlags, base: Settings | None) -> Settings:
    """Return the settings for a run that has its sandbox already."""
    return settings_for({name: given.get(name) for name in ("output", "jobs", "python")}, base)


def _excluded(given: SelectionFlags) -> tuple[str, ...] | None:
    language = given.get("lang")
    others = () if language is None else (f"!{language}",)
    return (*(names(given.get("exclude"), "--exclude") or ()), *others) or None


def _grader(given: GradingFlags) -> str | None:
    """Return the grader that the user names; None for the suite's own choice."""
    grader, integrity = given.get("grader"), given.get("integrity")
    said = f"--grader {grader}"
    meant = [("--no-exec", STATIC)] if given.get("no_exec") else []
    meant += [(f"--integrity {integrity}", _OF_INTEGRITY[integrity])] if integrity else []
    for flag, name in meant:
        if grader not in (None, name):
            raise UsageError(f"{flag} means the grader {name}; leave {said} out")
        grader, said = name, flag
    return grader
