"""Flags: keyword arguments of the API, options of the command line (with `-` for `_`), keys of `[[run]]` tables.

A flag that several commands take is declared once, above the groups. A group is a `TypedDict`: nothing else makes
type checkers look at keyword arguments. Importing this module imports nothing heavy: the command line reads it for
its help.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypedDict

from groundup.domain.errors import UsageError
from groundup.domain.languages import ServiceToolchain

WHICH = "Tasks"
HOW = "Grading"
WORK = "Work and folders"
MODEL = "Model"
EPISODE = "Attempts"
SERVER = "Server"
"""Panels of the command line's help."""

Names = str | Sequence[str] | None
"""Several names, or one text with commas between them."""
AnyPath = str | PathLike[str]
Assignments = Mapping[str, object] | Sequence[str] | None
"""Settings by name, or texts NAME=VALUE."""


Time = float | str | None
"""Seconds, or a text with a unit, such as `90s`, `10m` or `8h`."""


class FlagHelp(NamedTuple):
    """What a flag means, and how it looks on the command line."""

    help: str
    panel: str
    short: str | None = None
    metavar: str | None = None
    least: float | None = None
    """The smallest value that is allowed."""
    most: float | None = None
    with_unit: bool = False
    """Whether a time must say its unit: a number alone would be read as seconds by us, as hours by many."""


def flag_of(hint: object) -> FlagHelp | None:
    """Return the flag that an annotation declares; None where it declares none.

    A text behind the flag, as in `Annotated[Grader, "Whose scores are the rewards."]`, replaces its help.
    """
    metadata = getattr(hint, "__metadata__", ())
    found = next((one for one in metadata if isinstance(one, FlagHelp)), None)
    words = [one for one in metadata if isinstance(one, str)]
    return found._replace(help=words[-1]) if found and words else found


def is_time(hint: object) -> bool:
    """Whether an annotation declares a time, which may be a text with a unit."""
    return getattr(hint, "__origin__", None) == Time


Tasks = Annotated[
    Names,
    FlagHelp(
        "Only these tasks or groups of them, such as `sqlparse,tenacity`, those like `'sql*'`, or `failed:RUN`; "
        "can be repeated.",
        WHICH,
        metavar="NAMES",
    ),
]
Exclude = Annotated[Names, FlagHelp("All tasks but these; can be repeated.", WHICH, metavar="NAMES")]
Lang = Annotated[str | None, FlagHelp("Only tasks in this language, such as `python`.", WHICH)]
Grader = Annotated[
    str | None,
    FlagHelp("Such as `strict` or `official`; see `groundup suites` (default: the suite's first).", HOW),
]
Timeout = Annotated[
    Time,
    FlagHelp(
        "Time for the tests of one task, such as 90s or 10m (default: as its recipe says).",
        HOW,
        metavar="TIME",
        least=0.1,
    ),
]
StandIn = Annotated[
    str | None,
    FlagHelp(
        "One interpreter in place of those that tasks ask for, such as 3.13; verdicts then say stand-in.",
        HOW,
        metavar="VERSION",
    ),
]
Sandbox = Annotated[
    str | None,
    FlagHelp("bubblewrap, docker or podman (setting: sandbox, default: bubblewrap).", HOW),
]
Jobs = Annotated[
    int | None,
    FlagHelp("Attempts graded at once (setting: jobs, default: number of processors).", WORK, "-j", least=1),
]
Workers = Annotated[
    str | None,
    FlagHelp("Grade on a fleet: its address, or its file (docs/fleet.md).", WORK, metavar="ADDRESS"),
]
RUNS_FOLDER = "Folder that holds the runs (setting: output, default: runs)."
Output = Annotated[AnyPath | None, FlagHelp(RUNS_FOLDER, WORK, "-o")]
RunId = Annotated[str | None, FlagHelp("Name of the run's folder (default: from suite, subject and time).", WORK)]
ModelName = Annotated[str | None, FlagHelp("PROVIDER/MODEL; its key comes from the environment.", "Options", "-m")]
BaseUrl = Annotated[str | None, FlagHelp("The model's endpoint (default: its provider's).", MODEL)]
Prices = Annotated[AnyPath | None, FlagHelp("TOML file with prices of models (docs/models.md).", MODEL)]
PriceOfTokens = Annotated[str | None, FlagHelp("USD per million tokens, as INPUT:OUTPUT, such as 2:8.", MODEL)]
MaxCost = Annotated[
    float | None, FlagHelp("Most that the run may cost in all, in USD; needs --price or --prices.", WORK)
]
MaxTurns = Annotated[int | None, FlagHelp("Largest number of model replies in one attempt.", EPISODE, least=1)]
MaxSeconds = Annotated[
    Time, FlagHelp("Longest time of one attempt, such as 600s or 1h.", EPISODE, metavar="TIME", least=1)
]
AgentEnvironment = Annotated[
    Literal["task", "empty"] | None,
    FlagHelp("What is installed for the agent: as in the task's image (default), or pip and pytest.", EPISODE),
]
AgentBase = Annotated[
    str | None,
    FlagHelp(
        "Whose programs the agent has: host (default), listed, or those of an image, by its name or a file.",
        EPISODE,
        metavar="BASE",
    ),
]
HideScores = Annotated[bool, FlagHelp("Do not show the score to the agent after `submit`.", EPISODE)]
EndAtSubmit = Annotated[bool, FlagHelp("The first `submit` ends the attempt.", EPISODE)]
AgentName = Annotated[str | None, FlagHelp("Name of the agent, for reports (default: somebody).", EPISODE)]
ModelLabel = Annotated[str | None, FlagHelp("Name of the model, for reports.", EPISODE)]
Host = Annotated[
    str | None, FlagHelp("Address to listen on (default: 127.0.0.1); any other needs --token.", SERVER)
]
Port = Annotated[int | None, FlagHelp("Port (default: 8080; 0: a free one).", SERVER, least=0, most=65535)]


class SelectionFlags(TypedDict, total=False):
    """Which tasks, and how often."""

    tasks: Tasks
    exclude: Exclude
    lang: Lang
    attempts: Annotated[
        int | None,
        FlagHelp(
            "Attempts per task (default: 1, or as many as there are predictions).",
            WHICH,
            "-k",
            least=1,
            most=1000,
        ),
    ]
    limit: Annotated[
        int | None, FlagHelp("A random sample of so many tasks, the same for the same --seed.", WHICH, least=1)
    ]
    seed: Annotated[int | None, FlagHelp("Seed of the sample of --limit (default: 0).", WHICH)]


class GradingFlags(TypedDict, total=False):
    """What decides verdicts besides the submission."""

    grader: Grader
    integrity: Annotated[
        Literal["spot", "full"] | None,
        FlagHelp("How many of the tests that pass are checked: a sample, or all (default: spot).", HOW),
    ]
    no_exec: Annotated[bool, FlagHelp("Only read the sources and run nothing: the grader `static`.", HOW)]
    timeout: Timeout
    python: StandIn
    sandbox: Sandbox
    image: Annotated[
        str | None,
        FlagHelp(
            "The image that sandboxes are made from: a name or, without Docker and Podman, also a file that "
            "`docker save` wrote. {task} or {published}: each task's own (default: this machine's programs).",
            HOW,
            metavar="NAME",
        ),
    ]


class VariantFlags(TypedDict, total=False):
    """In which form a suite's tasks are given: SUITE+WORD. Runs in different forms are not compared."""

    hints: Annotated[
        bool,
        FlagHelp(
            "A second page for agents: names, paths and tokens that hidden tests want and the specification does "
            "not say (RepoGenesis). The suite is then called SUITE+hints.",
            WHICH,
        ),
    ]
    toolchain: Annotated[
        ServiceToolchain | None,
        FlagHelp(
            "Services in another language than the task's, where its README names no framework (RepoGenesis). The "
            "suite is then called SUITE+node or SUITE+go.",
            WHICH,
        ),
    ]


class WorkFlags(TypedDict, total=False):
    """How a run is worked on. Changes no verdict."""

    jobs: Jobs
    time: Annotated[
        Time,
        FlagHelp(
            "Most time for all of it, such as 8h; `groundup resume` does what is left.",
            WORK,
            metavar="TIME",
            least=0.1,
            with_unit=True,
        ),
    ]
    no_cache: Annotated[bool, FlagHelp("Grade everything: neither read nor write the verdict cache.", WORK)]
    keep: Annotated[bool, FlagHelp("Keep the graders' scratch folders.", WORK)]
    workers: Workers
    output: Output


class NamingFlags(TypedDict, total=False):
    """What a new run is called."""

    run_id: RunId


class ModelFlags(TypedDict, total=False):
    """Which model, and how it is asked."""

    model: ModelName
    base_url: BaseUrl
    temperature: Annotated[
        float | None, FlagHelp("Sampling temperature (default: the agent's, else the endpoint's).", MODEL, least=0)
    ]
    max_output_tokens: Annotated[int | None, FlagHelp("Largest number of tokens in one reply.", MODEL, least=1)]
    context_tokens: Annotated[int | None, FlagHelp("Size of the model's context window.", MODEL, least=1)]
    reasoning_effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
        FlagHelp("How long the model thinks (default: the endpoint's).", MODEL),
    ]
    model_option: Annotated[
        Assignments,
        FlagHelp("NAME=VALUE: a further setting of the model, such as timeout_s=1200 (docs/models.md).", MODEL),
    ]


class SubjectFlags(ModelFlags, total=False):
    """With which model an agent works, and in which way."""

    agent_option: Annotated[Assignments, FlagHelp("NAME=VALUE: a setting of the agent (docs/agents.md).", EPISODE)]
    max_turns: MaxTurns
    max_tokens: Annotated[
        int | None, FlagHelp("Largest number of tokens, input and output, in one attempt.", EPISODE, least=1)
    ]
    max_attempt_cost: Annotated[float | None, FlagHelp("Most that one attempt may cost, in USD.", EPISODE)]
    max_seconds: MaxSeconds
    agent_environment: AgentEnvironment
    agent_base: AgentBase
    hide_scores: HideScores
    end_at_submit: EndAtSubmit
    rounds: Annotated[
        int,
        FlagHelp("Rounds of work on one attempt; between them the agent learns its score.", EPISODE, least=1),
    ]
    select: Annotated[
        Literal["score", "own-tests"] | None,
        FlagHelp("With -k: report only the best attempt of each task, by this (score: an upper bound).", EPISODE),
    ]


class MakingFlags(TypedDict, total=False):
    """How submissions are made. Changes none of them."""

    generate_only: Annotated[
        bool, FlagHelp("Make submissions without grading them; `groundup resume` grades.", WORK)
    ]
    agents_on_nodes: Annotated[
        bool, FlagHelp("With --workers, let agents work on the nodes, too; models are asked from here.", WORK)
    ]
    agent_jobs: Annotated[
        int | None,
        FlagHelp("Attempts that agents make at once (setting: agent_jobs, default: as --jobs).", WORK, least=1),
    ]
    max_cost: MaxCost
    prices: Prices
    price: PriceOfTokens
    wait_for_model: Annotated[
        Time,
        FlagHelp("How long to wait for a server that still starts, such as 10m.", MODEL, metavar="TIME", least=0),
    ]
    model_jobs: Annotated[int | None, FlagHelp("Calls to the model at once (default: 64).", MODEL, least=1)]
    reuse_replies: Annotated[
        bool, FlagHelp("Reuse replies from disk when the request is exactly the same.", MODEL)
    ]


class RegradeFlags(SelectionFlags, GradingFlags, WorkFlags, NamingFlags, total=False):
    """What `regrade` takes."""


class ProvenanceFlags(TypedDict, total=False):
    """Whose predictions are evaluated."""

    task: Annotated[
        Names,
        FlagHelp(
            "The predictions are one repository, for this task. Of a folder of predictions, as --tasks: only "
            "these; can be repeated.",
            WHICH,
            metavar="TASK",
        ),
    ]
    model_name: Annotated[str | None, FlagHelp("Model that made the predictions.", "Options")]
    agent_name: Annotated[str | None, FlagHelp("Agent that made the predictions.", "Options")]
    strict_names: Annotated[
        bool, FlagHelp("Refuse a folder without a task's name, which is otherwise named and left alone.", WHICH)
    ]


class EvaluateFlags(ProvenanceFlags, RegradeFlags, VariantFlags, total=False):
    """What `evaluate` takes."""

    only_predicted: Annotated[
        bool, FlagHelp("Leave out tasks without a prediction, which otherwise count 0.", WHICH)
    ]


class ResumeFlags(MakingFlags, WorkFlags, total=False):
    """What `resume` takes: tasks, grader and sandbox are those that the run was begun with."""

    python: Annotated[StandIn, "The stand-in that the run was begun with, where it had one."]


class RunFlags(
    SubjectFlags, SelectionFlags, VariantFlags, GradingFlags, MakingFlags, WorkFlags, NamingFlags, total=False
):
    """What `run` takes."""


def names(given: Names, flag: str) -> tuple[str, ...] | None:
    """Return the names in a list or in `a,b`, each once; None when there is nothing given.

    Raises `UsageError` when something is given and names nothing.
    """
    if not given:
        return None
    texts = [given] if isinstance(given, str) else given
    found = dict.fromkeys(name for text in texts for part in text.split(",") if (name := part.strip()))
    if not found:
        raise UsageError(f"{flag} names nothing; name something or leave it out")
    return tuple(found)


def money(flag: str, usd: float | None) -> float | None:
    """Return the limit *usd* that the user gives with *flag*. Raises `UsageError` for one that allows nothing."""
    if usd is not None and not 0 < usd < float("inf"):
        raise UsageError(
            f"{flag} {usd:g} is no limit to spend up to; name a sum above 0, or leave it out for none"
        )
    return usd


def refuse_wrong_prices(price: str | None, prices: AnyPath | None) -> None:
    """Raise `UsageError` for prices that cannot be read, also in a run that asks no model."""
    if not (price or prices):
        return
    from groundup.models.prices import parse_price, read_prices

    if price:
        parse_price(price)
    if prices:
        read_prices(Path(prices))


class EpisodeFlags(TypedDict, total=False):
    """What `open_episode` takes."""

    index: Annotated[int | None, FlagHelp("Which of the attempts at the task (default: 0).", WHICH, least=0)]
    grader: Grader
    timeout: Timeout
    sandbox: Sandbox
    agent_environment: AgentEnvironment
    agent_base: AgentBase
    hide_scores: HideScores
    end_at_submit: EndAtSubmit
    agent_name: AgentName
    model_name: ModelLabel
    keep_in: Annotated[AnyPath | None, FlagHelp("A new folder in which the submission stays.", WORK)]


class ServeFlags(TypedDict, total=False):
    """What `serve` takes."""

    tasks: Tasks
    exclude: Exclude
    lang: Lang
    split: Annotated[
        Names,
        FlagHelp(
            "Name of the split that the tasks form; can be repeated (default: test).", WHICH, metavar="NAMES"
        ),
    ]
    seed: Annotated[int | None, FlagHelp("Shuffle the tasks with this seed (default: ordered by name).", WHICH)]
    grader: Annotated[Grader, "Grader whose scores are the rewards (default: the suite's first)."]
    timeout: Timeout
    python: StandIn
    sandbox: Sandbox
    submits: Annotated[
        int | None,
        FlagHelp("Submits per episode; the last one ends it (default: 1; 0: any number).", EPISODE, least=0),
    ]
    reward_at_end: Annotated[bool, FlagHelp("Grade only the last submit; the others give no reward.", EPISODE)]
    agent_environment: AgentEnvironment
    agent_base: AgentBase
    hide_scores: Annotated[HideScores, "Do not show the score to the model; the trainer still gets the reward."]
    max_turns: Annotated[MaxTurns, "Largest number of commands in one episode."]
    max_seconds: Annotated[MaxSeconds, "Longest time of one episode, such as 600s or 1h."]
    agent_name: Annotated[AgentName, "Name of the agent, for reports (default: client)."]
    model_name: ModelLabel
    slots: Annotated[int | None, FlagHelp("Episodes that are open at once (default: 8).", SERVER, least=1)]
    waiting: Annotated[int | None, FlagHelp("Sessions that may wait for a slot (default: 256).", SERVER, least=0)]
    client_slots: Annotated[
        int | None, FlagHelp("Largest number of slots for one client (default: all).", SERVER, least=1)
    ]
    idle: Annotated[
        Time,
        FlagHelp(
            "Time until a silent client's session is given up (default: 15m).", SERVER, metavar="TIME", least=0.1
        ),
    ]
    drain: Annotated[
        Time,
        FlagHelp(
            "Time that open episodes may still take when the server stops (default: 60s).",
            SERVER,
            metavar="TIME",
            least=0,
        ),
    ]
    host: Host
    port: Port
    token: Annotated[
        Names,
        FlagHelp(
            "Bearer token of a client; one for each client. Safer in GROUNDUP_TOKEN, separated by commas.",
            SERVER,
            metavar="TOKENS",
        ),
    ]
    jobs: Jobs
    workers: Workers
    output: Output
    run_id: Annotated[RunId, "Name of the run's folder; an existing one is continued."]


class ModelCheckFlags(ModelFlags, total=False):
    """What `models check` takes."""

    prices: Prices
    price: PriceOfTokens
