"""The flags of runs, each declared once.

They are the keyword arguments of the API, the options of the command line (with `-` for `_`), and the keys of
`[[run]]` tables. Importing this module imports nothing heavy: the command line reads it for its help.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, TypedDict

from groundup.domain.errors import UsageError

WHICH = "Which tasks"
HOW = "How it is graded"
WORK = "How it is worked on"
MODEL = "The model"
EPISODE = "The attempts"
"""Panels of the command line's help."""

Names = str | Sequence[str] | None
"""Several names, or one text with commas between them."""
AnyPath = str | PathLike[str]
Assignments = Mapping[str, object] | Sequence[str] | None
"""Settings by name, or texts NAME=VALUE."""


@dataclass(frozen=True)
class FlagHelp:
    """What a flag means, and how it looks on the command line."""

    help: str
    panel: str
    short: str | None = None
    metavar: str | None = None
    least: float | None = None
    """The smallest value that is allowed."""


class SelectionFlags(TypedDict, total=False):
    """Which tasks, and how often."""

    tasks: Annotated[
        Names,
        FlagHelp(
            "Only these tasks or groups of them, such as `sqlparse,tenacity`; can be repeated.",
            WHICH,
            metavar="NAMES",
        ),
    ]
    exclude: Annotated[Names, FlagHelp("All but these; can be repeated.", WHICH, metavar="NAMES")]
    lang: Annotated[str | None, FlagHelp("Only those in this language, where a suite has several.", WHICH)]
    attempts: Annotated[int | None, FlagHelp("Attempts per task (default: all there are).", WHICH, "-k", least=1)]
    limit: Annotated[
        int | None, FlagHelp("Only so many of them: a sample, always the same for a --seed.", WHICH, least=1)
    ]
    seed: Annotated[int | None, FlagHelp("Which sample --limit takes (default: 0).", WHICH)]


class GradingFlags(TypedDict, total=False):
    """What decides verdicts besides the submission."""

    grader: Annotated[str | None, FlagHelp("A grader of the suite (default: the suite's).", HOW)]
    no_exec: Annotated[bool, FlagHelp("Read submissions and run nothing: the grader `static`.", HOW)]
    timeout: Annotated[
        float | None, FlagHelp("Seconds for a task's tests, instead of its recipe's.", HOW, least=0.1)
    ]
    sandbox: Annotated[
        str | None, FlagHelp("bubblewrap, none or fake (setting: sandbox, default: bubblewrap).", HOW)
    ]


class WorkFlags(TypedDict, total=False):
    """How a run is worked on. Changes no verdict."""

    jobs: Annotated[
        int | None, FlagHelp("Attempts at once (setting: jobs, default: processors).", WORK, "-j", least=1)
    ]
    no_cache: Annotated[bool, FlagHelp("Look no verdict up, grade everything.", WORK)]
    keep: Annotated[bool, FlagHelp("Keep the graders' scratch folders.", WORK)]
    output: Annotated[
        AnyPath | None, FlagHelp("Folder of run folders (setting: output, default: runs).", WORK, "-o")
    ]
    i_trust_this_code: Annotated[bool, FlagHelp("With --sandbox none: let it run with all your rights.", HOW)]


class NamingFlags(TypedDict, total=False):
    """What a new run is called."""

    run_id: Annotated[str | None, FlagHelp("Name of the run's folder (default: made up).", WORK)]


class SubjectFlags(TypedDict, total=False):
    """With which model an agent works, and in which way."""

    model: Annotated[str | None, FlagHelp("PROVIDER/MODEL; its key comes from the environment.", "Options", "-m")]
    base_url: Annotated[str | None, FlagHelp("The model's endpoint (default: its provider's).", MODEL)]
    temperature: Annotated[float | None, FlagHelp("Default: the agent's, else the endpoint's.", MODEL, least=0)]
    max_output_tokens: Annotated[int | None, FlagHelp("Of one reply.", MODEL, least=1)]
    context_tokens: Annotated[int | None, FlagHelp("The model's window, if it is known.", MODEL, least=1)]
    model_option: Annotated[
        Assignments,
        FlagHelp("NAME=VALUE: a further setting of the model, such as timeout_s=1200 (docs/models.md).", MODEL),
    ]
    agent_option: Annotated[Assignments, FlagHelp("NAME=VALUE: a setting of the agent (docs/agents.md).", EPISODE)]
    max_turns: Annotated[int | None, FlagHelp("Replies in one attempt.", EPISODE, least=1)]
    max_tokens: Annotated[int | None, FlagHelp("Input and output of one attempt.", EPISODE, least=1)]
    max_attempt_cost: Annotated[float | None, FlagHelp("USD for one attempt.", EPISODE)]
    max_seconds: Annotated[float | None, FlagHelp("Wall clock of one attempt.", EPISODE, least=1)]
    hide_scores: Annotated[bool, FlagHelp("`submit` shows no score.", EPISODE)]
    end_at_submit: Annotated[bool, FlagHelp("The first `submit` ends the attempt.", EPISODE)]


class MakingFlags(TypedDict, total=False):
    """How submissions are made. Changes none of them."""

    generate_only: Annotated[bool, FlagHelp("Make submissions and grade none; `resume` grades.", WORK)]
    agent_jobs: Annotated[
        int | None,
        FlagHelp("Attempts at making submissions at once (setting: agent_jobs, default: --jobs).", WORK, least=1),
    ]
    max_cost: Annotated[
        float | None, FlagHelp("USD for the whole run, earlier starts included; needs prices.", WORK)
    ]
    prices: Annotated[AnyPath | None, FlagHelp("Price file (docs/models.md).", MODEL)]
    price: Annotated[str | None, FlagHelp("USD per million tokens, INPUT:OUTPUT.", MODEL)]
    model_jobs: Annotated[int | None, FlagHelp("Calls to the model at once (default: 64).", MODEL, least=1)]
    reuse_replies: Annotated[bool, FlagHelp("Look replies up in the response cache.", MODEL)]


class RegradeFlags(SelectionFlags, GradingFlags, WorkFlags, NamingFlags, total=False):
    """What `regrade` takes."""


class ProvenanceFlags(TypedDict, total=False):
    """Whose predictions are evaluated."""

    task: Annotated[str | None, FlagHelp("The predictions are one repository, for this task.", WHICH)]
    model_name: Annotated[str | None, FlagHelp("Model that made them.", "Options")]
    agent_name: Annotated[str | None, FlagHelp("Agent that made them.", "Options")]


class EvaluateFlags(ProvenanceFlags, RegradeFlags, total=False):
    """What `evaluate` takes."""


class ResumeFlags(SelectionFlags, GradingFlags, MakingFlags, WorkFlags, total=False):
    """What `resume` takes."""


class RunFlags(SubjectFlags, SelectionFlags, GradingFlags, MakingFlags, WorkFlags, NamingFlags, total=False):
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


class EpisodeFlags(TypedDict, total=False):
    """What `open_episode` takes."""

    index: Annotated[int | None, FlagHelp("Which of the attempts at the task (default: 0).", WHICH, least=0)]
    grader: Annotated[str | None, FlagHelp("A grader of the suite (default: the suite's).", HOW)]
    timeout: Annotated[
        float | None, FlagHelp("Seconds for a task's tests, instead of its recipe's.", HOW, least=0.1)
    ]
    sandbox: Annotated[str | None, FlagHelp("bubblewrap, none or fake.", HOW)]
    i_trust_this_code: Annotated[bool, FlagHelp("With the sandbox none: let it run with all your rights.", HOW)]
    hide_scores: Annotated[bool, FlagHelp("`submit` shows no score.", EPISODE)]
    end_at_submit: Annotated[bool, FlagHelp("The first `submit` ends the attempt.", EPISODE)]
    agent_name: Annotated[str | None, FlagHelp("Who plays (default: somebody).", EPISODE)]
    model_name: Annotated[str | None, FlagHelp("The model that plays.", EPISODE)]
    keep_in: Annotated[AnyPath | None, FlagHelp("A new folder in which the submission stays.", WORK)]


SERVER = "The server"


class ServeFlags(TypedDict, total=False):
    """What `serve` takes."""

    tasks: Annotated[
        Names, FlagHelp("Only these tasks or groups of them; can be repeated.", WHICH, metavar="NAMES")
    ]
    exclude: Annotated[Names, FlagHelp("All but these; can be repeated.", WHICH, metavar="NAMES")]
    lang: Annotated[str | None, FlagHelp("Only those in this language, where a suite has several.", WHICH)]
    split: Annotated[
        Names,
        FlagHelp("Name of the split that holds them; can be repeated (default: test).", WHICH, metavar="NAMES"),
    ]
    seed: Annotated[int | None, FlagHelp("Shuffle them, always the same way (default: by name).", WHICH)]
    grader: Annotated[str | None, FlagHelp("Whose scores are the rewards (default: the suite's grader).", HOW)]
    timeout: Annotated[
        float | None, FlagHelp("Seconds for a task's tests, instead of its recipe's.", HOW, least=0.1)
    ]
    sandbox: Annotated[str | None, FlagHelp("bubblewrap, none or fake.", HOW)]
    i_trust_this_code: Annotated[bool, FlagHelp("With --sandbox none: let it run with all your rights.", HOW)]
    submits: Annotated[
        int | None,
        FlagHelp("How many an episode has; the last one ends it (default: 1; 0: any number).", EPISODE, least=0),
    ]
    reward_at_end: Annotated[bool, FlagHelp("Grade the last submit only; others have no reward.", EPISODE)]
    hide_scores: Annotated[bool, FlagHelp("The model reads no score; the trainer gets its reward.", EPISODE)]
    max_turns: Annotated[int | None, FlagHelp("Commands in one episode.", EPISODE, least=1)]
    max_seconds: Annotated[float | None, FlagHelp("Wall clock of one episode.", EPISODE, least=1)]
    agent_name: Annotated[str | None, FlagHelp("Who plays, for reports (default: client).", EPISODE)]
    model_name: Annotated[str | None, FlagHelp("The model that plays, for reports.", EPISODE)]
    slots: Annotated[int | None, FlagHelp("Episodes that are open at once (default: 8).", SERVER, least=1)]
    waiting: Annotated[int | None, FlagHelp("Sessions that may wait for a slot (default: 256).", SERVER, least=0)]
    client_slots: Annotated[int | None, FlagHelp("Slots of one client (default: all).", SERVER, least=1)]
    idle: Annotated[
        float | None,
        FlagHelp("Seconds until a silent client's session is given up (default: 900).", SERVER, least=0.1),
    ]
    drain: Annotated[
        float | None,
        FlagHelp("Seconds that open episodes have when it is stopped (default: 60).", SERVER, least=0),
    ]
    host: Annotated[str | None, FlagHelp("Address to listen on; others than this machine's need a token.", SERVER)]
    port: Annotated[int | None, FlagHelp("Port (default: 8080; 0: a free one).", SERVER, least=0)]
    token: Annotated[
        Names,
        FlagHelp(
            "What clients send as bearer token; one for each client. Better in GROUNDUP_TOKEN, with commas.",
            SERVER,
            metavar="TOKENS",
        ),
    ]
    jobs: Annotated[
        int | None, FlagHelp("Gradings at once (setting: jobs, default: processors).", WORK, "-j", least=1)
    ]
    output: Annotated[
        AnyPath | None, FlagHelp("Folder of run folders (setting: output, default: runs).", WORK, "-o")
    ]
    run_id: Annotated[str | None, FlagHelp("Name of the run's folder; an earlier one of `serve` goes on.", WORK)]


class JudgeFlags(TypedDict, total=False):
    """What `judge` takes: who judges what, and for how much."""

    model: Annotated[Names, FlagHelp("A judge, PROVIDER/NAME; may be repeated.", "Options", "-m")]
    base_url: Annotated[
        Names, FlagHelp("Address of the judges' endpoint: one for all, or one for each -m in order.", "Options")
    ]
    context_tokens: Annotated[
        int | None, FlagHelp("What a judge can read at once (default: 32768).", "Options", least=6000)
    ]
    own_temperature: Annotated[
        bool, FlagHelp("Leave the temperature to the endpoint: some models refuse our 0.", "Options")
    ]
    price: Annotated[str | None, FlagHelp("USD per million tokens, INPUT:OUTPUT.", "Options")]
    prices: Annotated[AnyPath | None, FlagHelp("Price file (docs/models.md).", "Options")]
    max_cost: Annotated[float | None, FlagHelp("USD, for all judges together, this time.", "Options")]
    jobs: Annotated[int | None, FlagHelp("Questions at once (default: 8).", "Options", "-j", least=1)]
    of: Annotated[
        Names,
        FlagHelp("What is judged, of repository,readme,tests (default: all three).", "Options", metavar="MATTERS"),
    ]
    tasks: Annotated[Names, FlagHelp("Only these tasks; can be repeated.", "Options", metavar="NAMES")]
    output: Annotated[
        AnyPath | None, FlagHelp("Folder of run folders (setting: output, default: runs).", WORK, "-o")
    ]
