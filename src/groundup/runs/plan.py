"""From a configuration to a run's attempts, and how it is worked on. Reads a run folder only to grade it again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from groundup.domain.durations import duration
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.domain.names import count, printable, shuffled, unknown
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.episodes.attempt import REPEATS
from groundup.episodes.loading import find_grader, suite_pins, task_pins
from groundup.episodes.records import EpisodeSpec
from groundup.runs.submissions import (
    AgentSource,
    EarlierSource,
    ReferenceSource,
    ServedSource,
    SubmissionOrigin,
    check_instructions,
)
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import (
    Begun,
    ConfigFile,
    EarlierRun,
    Generated,
    GivenSubmissions,
    Planned,
    References,
    RunConfiguration,
    Served,
)
from groundup.suites.base import AtHand, Grader, Suite
from groundup.suites.opening import named_suite, open_suite
from groundup.suites.selection import Groups, groups_of, members, refuse_unknown


def _seconds(given: object) -> object:
    """Return a time such as `10m` in seconds; anything else as it is."""
    return duration(given, None) if isinstance(given, str) else given


class RunOptions(Record):
    """Settings of one start of a run; a resume can use others."""

    jobs: int = Field(default=1, ge=1, description="attempts at once")
    memory_share: float = Field(default=0.8, gt=0, le=1, description="of the machine's memory to reserve")
    retries: int = Field(
        default=REPEATS.tries - 1, ge=0, description="of an attempt whose infrastructure failed, in this start"
    )
    retry_delay_s: float = Field(default=2.0, ge=0)
    use_cache: bool = Field(default=True, description="look verdicts up before grading")
    time_s: float | None = Field(default=None, gt=0, description="for this start of the run; None: no limit")
    keep: bool = Field(default=False, description="keep the grader's scratch folders in the attempts' folders")
    agent_jobs: int | None = Field(
        default=None, ge=1, description="attempts at making submissions at once; None: as many as jobs"
    )
    generate_only: bool = Field(default=False, description="stop before grading; a resume grades")
    max_cost_usd: float | None = Field(
        default=None, gt=0, description="for the run's model, what earlier starts paid included"
    )
    prices: str | None = Field(default=None, description="price file")
    price: str | None = Field(default=None, description="USD per million tokens, INPUT:OUTPUT")
    model_concurrency: int = Field(default=64, ge=1, description="calls at once to the model's endpoint")
    model_timeout_s: float | None = Field(
        default=None, gt=0, description="for the whole answer to one call; None: as the run's configuration says"
    )
    model_patience_s: float | None = Field(
        default=None, ge=0, description="how long a failing call is repeated; None: as the configuration says"
    )
    model_wait_s: Annotated[float, BeforeValidator(_seconds)] = Field(
        default=0.0, ge=0, description="how long a model's endpoint that is not there yet is waited for"
    )
    reuse_replies: bool = Field(default=False, description="look replies of the model up in the response cache")
    workers: str | None = Field(
        default=None, description="address of a fleet that grades, or the file that has it"
    )
    agents_on_nodes: bool = Field(default=False, description="whether agents work on the fleet's nodes, too")


_READERS = (AgentSource, ServedSource)
"""Where submissions come from that somebody makes who reads what a task asks for."""


class RunPlan(NamedTuple):
    """Everything that is decided before a run starts. `groundup run --dry-run` shows it."""

    configuration: RunConfiguration
    suite: Suite
    grader: Grader
    tasks: Mapping[str, Task]
    planned: Planned
    source: SubmissionOrigin
    pinned: dict[str, str]
    left_out: tuple[str, ...] = ()
    """Tasks that the run does not name and that the suite cannot grade, or for which it has no oracle."""

    @property
    def missing(self) -> tuple[AttemptKey, ...]:
        """Attempts for which the source holds nothing."""
        return tuple(key for key in self.planned.keys if not self.source.holds(key))

    def episode(self, key: AttemptKey) -> EpisodeSpec:
        """Return what decides one attempt."""
        configuration, name = self.configuration, key.task
        made = configuration.submissions if isinstance(configuration.submissions, Generated) else None
        played = configuration.submissions if isinstance(configuration.submissions, Generated | Served) else None
        general = ("suite", "grader version", "architecture", "submission agent")
        pinned = {pin: value for pin, value in self.pinned.items() if pin in general or pin.endswith(f" {name}")}
        return EpisodeSpec(
            suite=configuration.suite,
            task=name,
            index=key.index,
            subject=configuration.subject,
            model_settings=made.model_settings if made else {},
            grader=self.grader.name,
            limits=played.limits if played else EpisodeLimits(),
            feedback=made.feedback if made else Feedback.SCORE,
            rounds=made.rounds if made else 1,
            own_tests=made is not None and made.select is Selection.OWN_TESTS,
            timeout_s=configuration.timeout_s,
            pinned=pinned,
        )


def make_plan(
    configuration: RunConfiguration,
    settings: Settings,
    *,
    only_predicted: bool = False,
    limit: int | None = None,
    seed: int = 0,
) -> RunPlan:
    """Decide what a run would do; raises `UsageError`, with the nearest name where one is unknown.

    The plan's configuration names the tasks where some of those asked for are left out: those without a prediction
    (*only_predicted*), or all but a sample of *limit* drawn by *seed*.
    """
    if "@" in configuration.sandbox:
        sandbox, _, image = configuration.sandbox.partition("@")
        settings = settings.but(sandbox=sandbox, image=image)
    configuration = configuration.but(suite=named_suite(configuration.suite, settings))
    suite = open_suite(configuration.suite, settings)
    grader = find_grader(suite, configuration.grader)
    every = suite.by_name()
    refuse_unknown(suite, (*(configuration.tasks or ()), *configuration.exclude))
    source = _source(configuration, suite, sorted(every))
    named = _named(configuration) or ()
    usual = [] if named and every.keys() >= {*named} else _usual(suite, configuration)
    if isinstance(source, _READERS):
        usual = [name for name in usual if every[name].instruction is not None] or usual
    spoken_of = {*named, *configuration.exclude}
    groups = {} if spoken_of <= every.keys() else groups_of(suite)
    tasks = {name: every[name] for name in _selected(configuration, sorted(every), usual, groups)}
    if isinstance(source, EarlierSource):
        tasks = {name: tasks[name] for name in source.among(tasks, configuration.tasks or ())}
    attempts = configuration.attempts or source.attempts()
    if only_predicted:
        tasks = _predicted(tasks, source, attempts)
    if isinstance(source, _READERS):
        check_instructions(suite.name, tasks)
    left_out = () if named else _left_out(configuration, every, usual, groups)
    if configuration.submissions == References(which="oracle"):
        lacking = _without_oracle(suite, configuration, tasks)
        tasks = {name: task for name, task in tasks.items() if name not in lacking}
        left_out = tuple(sorted({*left_out, *lacking}))
    if not isinstance(source, EarlierSource):  # what it holds was decided then
        lacking = _without_grading(grader, configuration, tasks)
        tasks = {name: task for name, task in tasks.items() if name not in lacking}
        left_out = tuple(sorted({*left_out, *lacking}))
    if only_predicted or limit is not None:
        names = shuffled(sorted(tasks), seed)[:limit]
        tasks = {name: tasks[name] for name in sorted(names)}
        configuration = configuration.but(tasks=tuple(tasks))
        left_out = () if limit is not None else tuple(sorted(_held(left_out, source, attempts)))
    planned = Planned(tasks=tuple(tasks), attempts=attempts)
    return RunPlan(
        configuration=configuration,
        suite=suite,
        grader=grader,
        tasks=tasks,
        planned=planned,
        source=source,
        pinned=_pinned(suite, grader, tasks, planned, source),
        left_out=left_out,
    )


def _predicted(tasks: Mapping[str, Task], source: SubmissionOrigin, attempts: int) -> dict[str, Task]:
    """Return those of *tasks* that have a prediction. Raises `UsageError` where none has."""
    found = _held(tasks, source, attempts)
    if not found:
        raise UsageError("none of the chosen tasks has a prediction; leave --only-predicted out or name others")
    return {name: task for name, task in tasks.items() if name in found}


def _held(tasks: Iterable[str], source: SubmissionOrigin, attempts: int) -> set[str]:
    return {key.task for key in Planned(tasks=tuple(tasks), attempts=attempts).keys if source.holds(key)}


def refuse_repeated_gradings(plan: RunPlan) -> None:
    """Raise `UsageError` for attempts that nobody made of any task: they would count 0."""
    asked, held = plan.planned.attempts, plan.source.attempts()
    if isinstance(plan.configuration.submissions, GivenSubmissions | EarlierRun) and asked > held:
        there = count(held, "attempt")
        raise UsageError(
            f"-k {asked}: each task has {there} at most, and grading one again makes no other; leave -k out"
        )


def notices(plan: RunPlan) -> Iterator[str]:
    """Yield what a user should know of a plan: tasks that are left out, and folders that are no task's."""
    if plan.left_out:
        yield left_out_notice(plan)
    strays = getattr(plan.source, "strays", ())
    if strays:
        named = ", ".join(map(printable, strays[:3])) + (f" and {len(strays) - 3} more" if strays[3:] else "")
        yield f"no task is called {named}: left alone; --strict-names refuses such folders"


def left_out_notice(plan: RunPlan) -> str:
    """Return a sentence about the tasks that a run leaves out because they lack what it needs."""
    lack, number = "cannot be graded yet", len(plan.left_out)
    referenced = AtHand.of(plan.suite).referenced()
    if plan.configuration.submissions == References(which="oracle") and len(referenced) < len(
        plan.suite.by_name()
    ):
        lack += " or have no oracle" if number > 1 else " or has no oracle"
    are = f"{number} tasks of {plan.suite.name} {lack} and are" if number > 1 else f"1 task {lack} and is"
    return f"{are} left out, such as {plan.left_out[0]}; see `groundup tasks {plan.suite.name}`"


def changed(earlier: ConfigFile, plan: RunPlan, pinned: Mapping[str, str]) -> list[str]:
    """Return the keys in which *plan* differs from the run that *earlier* describes."""
    was, planned = earlier.planned, plan.planned
    compared = ("tasks",) if isinstance(was, Begun) else tuple(Planned.model_fields)
    before = {
        **{name: str(getattr(was, name)) for name in compared},
        **earlier.pinned,
        "grader": earlier.grader,
    }
    now = {**{name: str(getattr(planned, name)) for name in compared}, **pinned, "grader": plan.grader.name}
    keys = changed_fields(earlier.configuration, plan.configuration)
    keys += sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    return list(dict.fromkeys(keys))


def changed_fields(earlier: RunConfiguration, now: RunConfiguration) -> list[str]:
    """Return the names of the fields that differ."""
    return [name for name, value in earlier if value != getattr(now, name)]


def _usual(suite: Suite, configuration: RunConfiguration) -> list[str]:
    """Return the tasks of a run that names none."""
    usual = set(AtHand.of(suite).gradable())
    if not usual:
        raise UsageError(
            f"no task of {suite.name} can be graded with what is at hand; fetch its data with "
            f"`groundup data pull {suite.name}`"
        )
    if configuration.submissions == References(which="oracle"):
        usual &= set(AtHand.of(suite).referenced())
    return sorted(usual)


def _without_oracle(suite: Suite, configuration: RunConfiguration, chosen: Collection[str]) -> list[str]:
    """Return which of the tasks *chosen* through a group have no oracle.

    Raises `UsageError` where the user named one itself, for no second try would find it an oracle, and when no
    task has one.
    """
    lacking = sorted(set(chosen) - set(AtHand.of(suite).referenced()))
    named = [name for name in lacking if name in (configuration.tasks or ())]
    if named or len(lacking) == len(chosen):
        raise UsageError(
            f"{suite.name} has no oracle for {', '.join(named or lacking)}; leave --tasks out to run those that "
            "have one, or hand in a solution of your own with `groundup evaluate`"
        )
    return lacking


def _without_grading(grader: Grader, configuration: RunConfiguration, chosen: Mapping[str, Task]) -> list[str]:
    """Return which of the tasks *chosen* lack what *grader* takes.

    Raises `UsageError` where the user named one itself, for no second try would find it, and when every task does.
    """
    lacking: dict[str, str] = {}
    for name, task in chosen.items():
        try:
            grader.check(task)
        except TaskError as error:
            lacking[name] = str(error)
    named = [name for name in lacking if name in (_named(configuration) or ())]
    if named or len(lacking) == len(chosen):
        name = named[0] if named else next(iter(lacking))
        without = f"; or leave it out with `--exclude {name}`" if len(lacking) < len(chosen) else ""
        raise UsageError(f"{lacking[name]}{without}")
    return list(lacking)


def _left_out(
    configuration: RunConfiguration, every: Collection[str], usual: Collection[str], groups: Groups
) -> tuple[str, ...]:
    unwanted = members(configuration.exclude, sorted(every), groups)
    return tuple(sorted(set(every) - set(usual) - unwanted))


def _selected(
    configuration: RunConfiguration, every: Sequence[str], usual: Sequence[str], groups: Groups
) -> list[str]:
    wanted = members(_named(configuration) or usual, every, groups)
    selected = sorted(wanted - members(configuration.exclude, every, groups))
    gone = [name for name in selected if name not in every]
    if gone:
        raise UsageError(unknown("task", gone[0], every))
    if not selected:
        raise UsageError(f"no task of {configuration.suite} is left to do; check --tasks and --exclude")
    return selected


def _named(configuration: RunConfiguration) -> tuple[str, ...] | None:
    match configuration.submissions:
        case GivenSubmissions(task=str(task)):
            return configuration.tasks or (task,)
        case EarlierRun(path=path):
            return configuration.tasks or RunFolder(Path(path)).config().planned.tasks
        case _:
            return configuration.tasks


def _source(configuration: RunConfiguration, suite: Suite, tasks: Sequence[str]) -> SubmissionOrigin:
    match configuration.submissions:
        case References(which=which):
            return ReferenceSource(suite, which)
        case EarlierRun(path=path):
            return EarlierSource(RunFolder(Path(path)))
        case Generated() as generated:
            return AgentSource(generated, suite)
        case Served():
            return ServedSource()
        case GivenSubmissions() as predictions:
            from groundup.runs.predictions import PredictionLayout, open_predictions

            layout = PredictionLayout(suite.prediction_groups, patches=suite.takes_patches)
            return open_predictions(predictions, tasks, layout=layout)


def _pinned(
    suite: Suite, grader: Grader, tasks: Mapping[str, Task], planned: Planned, source: SubmissionOrigin
) -> dict[str, str]:
    pinned = suite_pins(suite, grader)
    for task in tasks.values():
        pinned |= task_pins(suite, grader, task, is_read=isinstance(source, _READERS))
    for name, digest in source.identity(frozenset(planned.keys)).items():
        pinned[f"submission {name}"] = digest
    return pinned
