"""Which job of a repository runs its tests: rules that give their reasons, and a model's opinion beside them.

Every job is looked at in every leg of its matrix that is known; the best leg counts for its job. Points are for
what its commands run, for what starts it, for the machine it runs on, and against what makes it a special case.
They order candidates and mean nothing else.

The model sees the workflow files and the jobs in them, not what the rules found. What it answers counts only where
it names a job that exists.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.models.opening import open_model
from groundup.models.protocol import ChatModel
from groundup.models.settings import ModelSettings, usual_address
from groundup.workflows.foretelling import with_known_values
from groundup.workflows.jobs import JobReader, Look, contexts_of
from groundup.workflows.matrix import Leg, flat, legs
from groundup.workflows.runners import Meaning
from groundup.workflows.tree import RepositoryTree, text_of
from groundup.workflows.workflow import Job, Workflow, read_workflow
from groundup_factory.instances.ratings import plainness, system_rating, version_rating, versions_in


class JobCandidate(Record):
    """One job that may be the one, in the leg of its matrix that would be taken."""

    workflow: str
    job: str
    leg: dict[str, str] = {}
    """Every key of the matrix with its value; a value below another has the key `outer.inner`."""
    through: str | None = None
    """The workflow file, and the job in it, that it calls."""
    runner: str
    """The label of the machine; with an expression where only a running workflow knows it."""
    commands: tuple[str, ...] = ()
    """What runs the tests, each with the names that lead to it."""
    score: float
    reasons: tuple[str, ...] = ()
    other_legs: tuple[dict[str, str], ...] = ()
    """Legs that would do too, the best first."""
    is_dynamic: bool = False
    """Whether its matrix is made while the workflow runs."""
    refused: str = ""
    """Why it cannot be run here, as far as is known before it runs; empty: it can, or nobody looked."""
    lacks: tuple[str, ...] = ()
    """Toolchains that this machine has not, with how they come here; they are no reason to take another job."""
    hindrances: tuple[str, ...] = ()
    """What running it elsewhere than on GitHub takes besides: services, containers, workflows of others."""

    @property
    def legs(self) -> tuple[dict[str, str], ...]:
        """Every leg that would do, the best first."""
        return (self.leg, *self.other_legs)


class JobOpinion(Record):
    """A model's answer to the same question."""

    model: str
    workflow: str | None
    job: str | None
    reason: str
    agrees: bool


class Located(Record):
    """Where the tests run, the best candidate first; empty where no job runs any."""

    candidates: tuple[JobCandidate, ...] = ()
    workflows: int = 0
    """How many workflow files were read."""
    unread: tuple[str, ...] = ()
    """Workflow files that could not be read: one sentence each."""
    unseen: tuple[str, ...] = ()
    """Jobs that call a workflow of another repository which could not be had: one sentence each."""
    others: tuple[str, ...] = ()
    """Files of other CI services, which are not read."""
    opinion: JobOpinion | None = None

    @property
    def nothing(self) -> str:
        """Why there may be no candidate."""
        if self.unread:
            return f"no job seems to run tests ({self.unread[0]})"
        if self.unseen:
            return f"which job runs tests is not known: {self.unseen[0]}"
        if self.others:
            listed = ", ".join(self.others[:3])
            return f"no job seems to run tests (it uses {listed}, of which only GitHub's workflows are read)"
        count = self.workflows
        read = (
            f"{count} workflow{'s were' if count > 1 else ' was'} read"
            if count
            else "it has no workflows of GitHub"
        )
        return f"no job seems to run tests ({read})"

    @property
    def best(self) -> JobCandidate | None:
        """The job to take; None where no job seems to run tests."""
        return self.candidates[0] if self.candidates else None


_FOLDER = ".github/workflows/"
_MOST_LEGS = 256
_COMMON = 0.4
"""From which rating on a version of the language is released and not out of the ordinary."""
_UNRELEASED = 1.0
"""What a leg without such a version must make up for by what it runs besides."""
_MOST_JOBS = 200
_FEWEST_POINTS = 3.0
_SPECIAL_WORDS = (
    "integration", "e2e", "end.to.end", "smoke", "docker", "browser", "wasm", "wasi", "min(?:imal|imum)?[-_ ]",
    "minimal", "msrv", "nightly", "cover", "windows", "win(?![a-z])", "macos", "mac(?![a-z])", "osx", "lint",
    r"docs?\b", "doctest", "bench", "canary", "downstream", "upstream", "third.party", "oldest", "legacy", "fuzz",
    "miri", "release", "publish", "deploy", "freebsd", "embedding", "gpu", "cuda", "tpu", "perf", "nodejs",
    "valkey", "crt", "ssl", "cron", "weekly", "repro", "deno", "bun(?![a-z])", "updated", "latest", "next", "beta",
    "sanity", "cross", "i686", "no[-_]std", "ecosystem", "storage", "matplotlib", "numpy", "conda", "locales?",
    r"tz\b", "package", "notebook", "experimental", "emscripten", "pyodide", "typing", "types", "mutation", "slow",
    "hypothesis", "[tal]san(?![a-z])", "loom", "panic", "regress", "compat", "vcs", "pypy", "free.?thread",
    r"dev\b",
)  # fmt: skip
"""Words in names of special cases. `continuous integration` is none."""
_SPECIAL = re.compile(rf"(?<![a-z])(?<!continuous[-_ ])(?:{'|'.join(_SPECIAL_WORDS)})", re.IGNORECASE)
_PLAIN = re.compile(
    r"(?<![a-z])(?:unit|tests?|testing|pytest|tox|ci|build|main|check|checks)(?![a-z])", re.IGNORECASE
)
_TEST_NAME = re.compile(r"(?<![a-z])(?:unit[-_ ]?)?(?:tests?|pytest|tox)(?![a-z])", re.IGNORECASE)


_OTHER_SERVICES = re.compile(
    r"\.travis\.ya?ml|\.circleci/config\.ya?ml|\.gitlab-ci\.ya?ml|\.?azure-pipelines\.ya?ml|\.?appveyor\.ya?ml|"
    r"Jenkinsfile|\.cirrus\.ya?ml|\.drone\.ya?ml|\.woodpecker(?:/\w+)?\.ya?ml|\.zuul\.ya?ml|bitbucket-pipelines\.ya?ml|"
    r"\.semaphore/semaphore\.ya?ml|\.build(?:kite/pipeline|\.s)?\.ya?ml"
)


class _Leg(NamedTuple):
    leg: Leg
    look: Look
    rating: float


class _Points:
    """A sum with its reasons."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.reasons: list[str] = []

    def add(self, points: float, reason: str) -> None:
        self.sum += points
        self.reasons.append(f"{points:+.1f} {reason}")


def locate(tree: RepositoryTree, foreign: Mapping[str, bytes] | None = None) -> Located:
    """Return the jobs of *tree* that run tests, the best one first.

    *foreign* holds called workflows of other repositories, by what `uses` says.
    """
    workflows, unread = read_workflows(tree)
    jobs = JobReader(tree, foreign)
    called = {_local(job.reusable) for workflow in workflows for job in workflow.jobs if job.reusable}
    found = []
    unseen = []
    for workflow in workflows:
        if set(workflow.events) <= {"workflow_call"} and workflow.path in called:
            continue  # its callers speak for it
        for written in workflow.jobs[:_MOST_JOBS]:
            job = written.but(matrix=with_known_values(workflow, written, tree))
            candidate = _candidate(jobs, jobs.started(workflow, job), job)
            if candidate is not None and candidate.score >= _FEWEST_POINTS:
                found.append(candidate)
            elif _is_unseen(job.reusable, foreign or {}):
                unseen.append(
                    f"job {job.id} of {workflow.path} calls {job.reusable}, a workflow of another repository that "
                    "could not be read"
                )
    found.sort(key=lambda item: -item.score)
    others = tuple(path for path in sorted(tree.paths()) if _OTHER_SERVICES.fullmatch(path))
    return Located(
        candidates=tuple(found),
        workflows=len(workflows),
        unread=tuple(unread),
        unseen=tuple(unseen),
        others=others,
    )


def read_workflows(tree: RepositoryTree) -> tuple[list[Workflow], list[str]]:
    """Return the workflow files that can be read, and a sentence for each that cannot."""
    found: list[Workflow] = []
    unread: list[str] = []
    for path in sorted(tree.paths()):
        if not path.startswith(_FOLDER) or not path.endswith((".yml", ".yaml")) or path.count("/") > 2:
            continue
        data = tree.read(path)
        try:
            found.append(read_workflow(data or b"", path))
        except TaskError as error:
            unread.append(str(error))
    return found, unread


def _is_unseen(called: str | None, foreign: Mapping[str, bytes]) -> bool:
    return called is not None and not called.startswith("./") and called not in foreign


def _local(called: str) -> str:
    return called.removeprefix("./").split("@")[0]


def _candidate(jobs: JobReader, workflow: Workflow, job: Job) -> JobCandidate | None:
    chosen, *others = _rated_legs(jobs, workflow, job)
    tests = chosen.look.tests
    if not tests:
        return None
    points = _Points()
    _for_commands(points, tests)
    _for_start(points, workflow, job)
    _for_machine(points, chosen.look)
    if _version(chosen.look, chosen.leg) < _COMMON:
        points.add(-1.5, "no leg has a released version of the language that is common")
    _for_names(points, workflow, job)
    return JobCandidate(
        workflow=workflow.path,
        job=job.id,
        leg=dict(flat(chosen.leg)),
        through=chosen.look.through,
        runner=chosen.look.runner,
        commands=tuple(dict.fromkeys(_shown(meaning) for meaning in tests))[:8],
        other_legs=_other_legs(chosen, others),
        is_dynamic=bool(job.matrix.dynamic),
        score=round(points.sum, 2),
        reasons=tuple(points.reasons),
        hindrances=tuple(_hindrances(chosen.look, job)),
    )


_MOST_OTHER_LEGS = 6


def _other_legs(chosen: _Leg, others: Sequence[_Leg]) -> tuple[dict[str, str], ...]:
    """Return the next best legs that run as much as the chosen one, on Linux."""
    enough = 0.6 * _worth(chosen.look.tests)
    fitting = (one for one in others if _worth(one.look.tests) >= enough and system_rating(one.look.runner) > 0.5)
    return tuple(dict(flat(one.leg)) for one in itertools.islice(fitting, _MOST_OTHER_LEGS))


def best_leg(tree: RepositoryTree, workflow: Workflow, job: Job) -> dict[str, str]:
    """Return the leg of *job* to take, as `flat` writes it."""
    known = job.but(matrix=with_known_values(workflow, job, tree))
    return dict(flat(_rated_legs(JobReader(tree), workflow, known)[0].leg))


def _rated_legs(jobs: JobReader, workflow: Workflow, job: Job) -> list[_Leg]:
    """Return the legs of *job*, the best first."""
    rated = []
    for leg in legs(job.matrix)[:_MOST_LEGS]:
        look = jobs.look(workflow, job, leg)
        version = _version(look, leg)
        rating = 4 * _worth(look.tests) + 3 * system_rating(look.runner) + version + plainness(leg)
        rating -= _UNRELEASED * (version < _COMMON)
        rated.append(_Leg(leg, look, round(rating - 0.01 * len(leg), 4)))
    return sorted(rated, key=lambda item: -item.rating)  # the first of equals stays first


def _worth(tests: Sequence[Meaning]) -> float:
    return max((meaning.certainty * (0.6 if meaning.part else 1.0) for meaning in tests), default=0.0)


def _version(look: Look, leg: Leg) -> float:
    named = {**dict(versions_in(leg)), **dict(look.versions)}
    return 1.5 * min((version_rating(kind, version) for kind, version in named.items()), default=0.5)


def _for_commands(points: _Points, tests: Sequence[Meaning]) -> None:
    best = max(tests, key=lambda meaning: meaning.certainty * (0.6 if meaning.part else 1.0))
    points.add(10 * best.certainty, f"runs {_shown(best)}")
    if best.part:
        points.add(-4, f"not the whole suite: {best.part}")
    further = len({meaning.command for meaning in tests}) - 1
    if further:
        points.add(min(0.25 * further, 1.0), f"{further} more commands that test")


def _for_start(points: _Points, workflow: Workflow, job: Job) -> None:
    events = set(workflow.events)
    if events & {"push", "pull_request"}:
        points.add(2, "started by " + " and ".join(sorted(events & {"push", "pull_request"})))
    elif events & {"merge_group", "pull_request_target", "workflow_call"}:
        points.add(-1, f"started by {', '.join(sorted(events))}")
    else:
        points.add(-5, f"only started by {', '.join(sorted(events)) or 'no event'}")
    if contexts_of(workflow, job, None).holds(job.condition) is False:
        points.add(_NEVER, f"never, for here it does not hold that {str(job.condition).strip()[:80]}")
    elif job.condition is not None and _seldom(job.condition):
        points.add(-3, f"only if {job.condition.strip()[:80]}")
    if job.needs:
        points.add(-0.3, f"after {', '.join(job.needs)}")


_NEVER = -100.0
"""Of a job whose condition does not hold: it stands behind all that run."""


def _seldom(condition: str) -> bool:
    """Whether a condition asks for a tag, a schedule, or a hand that starts it, and nothing else."""
    if "||" in condition or "!" in condition:
        return False
    return bool(re.search(r"refs/tags|'schedule'|'workflow_dispatch'|'release'|issue|label|comment", condition))


def _for_machine(points: _Points, look: Look) -> None:
    rating = system_rating(look.runner)
    points.add(4 * rating - 3, f"on {look.runner or 'an unnamed machine'}")
    if look.services:
        points.add(-1.5, f"beside services: {', '.join(look.services)}")
    if look.container:
        points.add(-1.5, f"in the container {look.container}")
    if look.in_machine:
        points.add(-4, "in a machine or container that an action starts")
    if look.foreign:
        points.add(-1, f"in a workflow of another repository, {look.foreign}")


def _for_names(points: _Points, workflow: Workflow, job: Job) -> None:
    file = workflow.path.removeprefix(_FOLDER).rpartition(".")[0]
    if re.fullmatch(r"(?:unit[-_]?)?tests?|ci|main|tox|build", file, re.IGNORECASE):
        points.add(0.5, f"file {file!r} is the usual one")
    names = {"job": f"{job.id} {job.name if job.name and '${{' not in job.name else ''}", "file": file}
    if workflow.name and workflow.name != workflow.path:
        names["workflow"] = workflow.name
    for what, name in names.items():
        special = _SPECIAL.search(name)
        if special:
            points.add(-2 if what == "job" else -1.5, f"{what} {name.strip()!r} says {special[0]!r}")
        elif _TEST_NAME.search(name):
            points.add(1.5 if what == "job" else 1, f"{what} {name.strip()!r} says tests")
        elif _PLAIN.search(name):
            points.add(0.5, f"{what} {name.strip()!r} is an ordinary name")


def _shown(meaning: Meaning) -> str:
    return " → ".join((*meaning.via, meaning.command))


def _hindrances(look: Look, job: Job) -> Iterator[str]:
    if look.foreign:
        yield f"calls a workflow of another repository ({look.foreign}), whose steps cannot be read here"
    if look.services:
        yield f"services: {', '.join(look.services)}"
    if look.container:
        yield f"container: {look.container}"
    if look.in_machine:
        yield "an action starts a machine or container of its own"
    if job.matrix.dynamic:
        yield f"its matrix is made while the workflow runs ({', '.join(job.matrix.dynamic)}); no leg can be named"
    if system_rating(look.runner) < 0.5:
        yield f"no leg runs on Linux ({look.runner})"
    if "${{" in look.runner:
        yield f"where it runs is known only while the workflow runs ({look.runner})"
    if job.needs:
        yield f"needs {', '.join(job.needs)} to run first"


_ASKED = """Below are the workflow files of a repository. Which job runs the project's own test suite, as it
would be run for every change? Prefer a job that runs the whole suite on Ubuntu over partial, integration,
end-to-end, nightly, coverage-only, lint, documentation and release jobs. A job may call a script, a build tool or
another workflow that runs the tests; then name the job that is started by a push or a pull request.

Answer with one JSON object and nothing else:
{"workflow": "<path of the file>", "job": "<id of the job>", "reason": "<one sentence>"}
If no job runs tests, give null for workflow and job.
"""
_MOST_CHARACTERS = 60_000
_LONGEST_FILE = 12_000
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


async def located(
    tree: RepositoryTree,
    model: str | None = None,
    base_url: str | None = None,
    foreign: Mapping[str, bytes] | None = None,
) -> Located:
    """Return which job runs the tests by the rules, and what *model*, PROVIDER/MODEL, says. Runs nothing."""
    found = locate(tree, foreign)
    if model is None:
        return found
    async with open_model(model, ModelSettings(base_url=base_url or usual_address(model))) as opened:
        return await ask_model(tree, found, opened)


async def ask_model(tree: RepositoryTree, found: Located, model: ChatModel) -> Located:
    """Return *found* with the model's opinion. Raises what the model raises."""
    workflows, _ = read_workflows(tree)
    request = ChatRequest(messages=(Message(role="user", content=_question(tree, workflows)),), temperature=0.0)
    reply = await model.complete(request)
    return found.but(opinion=_opinion(model.name, reply.message.content, workflows, found))


def _question(tree: RepositoryTree, workflows: list[Workflow]) -> str:
    parts = [_ASKED]
    room = _MOST_CHARACTERS
    for workflow in sorted(workflows, key=lambda one: not set(one.events) & {"push", "pull_request"}):
        text = (text_of(tree, workflow.path) or "")[: min(_LONGEST_FILE, room)]
        room -= len(text)
        jobs = ", ".join(job.id for job in workflow.jobs)
        parts.append(f"=== {workflow.path} (jobs: {jobs})\n{text}")
        if room <= 0:
            break
    return "\n\n".join(parts)


def _opinion(name: str, answer: str, workflows: list[Workflow], found: Located) -> JobOpinion:
    """Read the answer; one that names no existing job is reported as such, and agrees with nothing."""
    named = _object(answer)
    workflow, job, reason = (_text(named.get(key)) for key in ("workflow", "job", "reason"))
    best = found.best
    if named and workflow is None and job is None:
        return JobOpinion(model=name, workflow=None, job=None, reason=reason or "", agrees=best is None)
    known = {(one.path, item.id) for one in workflows for item in one.jobs}
    place = next(
        ((path, item) for path, item in known if item == job and path.endswith((workflow or "").lstrip("./"))),
        None,
    )
    if place is None:
        wrong = f"it names no job that there is: {answer.strip()[:200]!r}"
        return JobOpinion(model=name, workflow=None, job=None, reason=wrong, agrees=False)
    agrees = best is not None and (best.workflow, best.job) == place
    return JobOpinion(model=name, workflow=place[0], job=place[1], reason=(reason or "")[:400], agrees=agrees)


def _object(answer: str) -> dict[str, object]:
    match = _OBJECT.search(answer)
    try:
        value = json.loads(match[0]) if match else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
