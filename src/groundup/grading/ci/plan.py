"""A CI job with what it takes to run it here: its steps, interpreters, toolchains and registries. Runs nothing.

Lines of a job's scripts that check style or types: they may fail where only the tests are to decide.

A checker that was released since, or one that looks at another interpreter's types, finds faults that have nothing
to do with the project's dependencies. A line changes only where it is one command that does nothing else.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from pydantic import JsonValue

from groundup.domain.languages import SetupKind
from groundup.domain.records import Record
from groundup.grading.ci.actions import JobNeeds, is_known_unsupported, needs_of, parse_uses, stub_of
from groundup.grading.ci.changes import with_changes_known
from groundup.grading.ci.records import JobRequest, Obstacle, UnsupportedJobError
from groundup.grading.ci.tested import steps_with_tests
from groundup.languages import SETUPS
from groundup.workflows.commands import needed_programs, program_of
from groundup.workflows.foretelling import with_known_values
from groundup.workflows.jobs import JobReader, PlacedStep, checkout_folder, contexts_of, own_steps, setup_of
from groundup.workflows.matrix import Leg, pinned
from groundup.workflows.runners import IN_BROWSER, Meaning, Purpose
from groundup.workflows.tree import FolderTree, InFolder, RepositoryTree
from groundup.workflows.workflow import Job, Step, Workflow, WorkflowError, read_yaml, workflow_of

PASSED_OVER = "failed and was passed over: it checks style or types"
_SEVERAL = re.compile(
    r"[#;&|`\\{}]|<<|^\s*(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|!|function)\b"
)
"""What makes of a line more than one plain command, once expressions are taken out."""
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_GOES_ON = re.compile(r"(?:\\|\||&&)\s*$")
_SHELLS = re.compile(r"(?:bash|sh)\b")
_COMPILERS = frozenset({"tsc", "vue-tsc"})
"""Checkers that build what the tests need, unless they are told not to."""


def lenient_scripts(reader: JobReader, workflow: Workflow, job: Job, leg: Leg) -> dict[int, str]:
    """Return the scripts of *job*'s own steps in which checks may fail, by the step's index, where they differ."""
    found: dict[int, str] = {}
    for placed in own_steps(job.steps, contexts_of(workflow, job, leg)):
        step = placed.step
        if step.run is None or "<<" in step.run or not _SHELLS.match(step.shell or job.shell or "bash"):
            continue
        script = "\n".join(_lines(reader, placed, job, step.run))
        if script != "\n".join(step.run.splitlines()):
            found[step.index] = script
    return found


def _lines(reader: JobReader, placed: PlacedStep, job: Job, script: str) -> Iterator[str]:
    before = ""
    for line in script.splitlines():
        plain = _EXPRESSION.sub("x", line)
        if _SEVERAL.search(plain) or _GOES_ON.search(before) or not _only_checks(reader, placed, job, line):
            yield line
        else:
            yield f'{line} || echo "groundup: {_name(line)}: {PASSED_OVER}"'
        before = line


def _only_checks(reader: JobReader, placed: PlacedStep, job: Job, line: str) -> bool:
    meanings = reader.of_step(placed._replace(step=placed.step.but(run=line)), job)
    return bool(meanings) and all(_is_check(meaning) for meaning in meanings)


def _is_check(meaning: Meaning) -> bool:
    words = meaning.command.split()
    builds = program_of(words[0]) in _COMPILERS and "--noEmit" not in words
    return meaning.purpose is Purpose.CHECK and not builds


def _name(line: str) -> str:
    """Return the command as a line of a log may name it; it is text within double quotes."""
    return re.sub(r"[^\w ./:=@-]", "", line).strip()[:60]


_VERSION = r"""["']?(\$\{\{[^}]*\}\}|[\w./*-]+)"""
Tool = SetupKind
_KIND_OF_STUB: Mapping[str, Tool] = {
    "python": "python", "pdm": "python", "uv": "python", "poetry": "python", "hatch": "python",
    "node": "node", "pnpm": "node", "npm_install": "node",
    "rust": "rust", "cargo": "rust", "cargo_tool": "rust", "wasmtime": "rust", "dotnet": "dotnet",
    "ruff": "python", "build_and_inspect": "python",
}  # fmt: skip
_WORDS: Mapping[Tool, re.Pattern[str]] = {
    kind: re.compile(rf"\b(?:{language.programs})\b") for kind, language in SETUPS.items()
}
_ASKING: Mapping[Tool, re.Pattern[str]] = {
    "node": re.compile(rf"\bnvm\s+(?:install|use)\s+(?:-\S+\s+)*{_VERSION}"),
    "rust": re.compile(
        rf"\b(?:rustup\s+(?:toolchain\s+install|install|default|override\s+set|run)\s+(?:--profile\s+\S+\s+|-\S+\s+)*|cargo\s+\+){_VERSION}"
    ),
}
"""Versions that programs are asked for; there is one of each here, and the report names what it stands for."""
DEFAULT_PYTHON = "3.12"
MINORS = tuple(f"3.{minor}" for minor in range(14, 6, -1))
"""Newest first."""


class Tools(Record):
    """What must lie ready."""

    kinds: tuple[Tool, ...] = ()
    asked: dict[Tool, tuple[str, ...]] = {}
    """Versions as the steps name them, in their order."""
    python_files: tuple[str, ...] = ()
    """Files that name versions of Python, as `setup-python` takes them."""
    perhaps: tuple[Tool, ...] = ()
    """What the job may call though no step clearly does; it lies ready where this machine has it."""

    @property
    def has_python(self) -> bool:
        """Whether an interpreter lies ready."""
        return "python" in (*self.kinds, *self.perhaps)


_BUILT_WITH: Mapping[str, Tool] = {"package.json": "node", "Cargo.toml": "rust"}
"""Files of a package in another language, which a build of Python packages installs from its registry."""
_DEEPEST_BUILT = 2
"""How many folders above such a file may have: deeper ones are examples and tests."""


def tools_of(
    steps: Iterable[PlacedStep], languages: Iterable[Tool], paths: Iterable[str] = (), called: Iterable[str] = ()
) -> Tools:
    """Return what *steps* need; *languages* are needed in any case. *paths* are the repository's files.

    *called* are the command lines to which names of the project's own, such as `make test`, lead in the end.
    Decided by what scripts run; a program that they only name lies ready where this machine has it.
    """
    kinds: dict[Tool, None] = dict.fromkeys(languages)
    programs = {program_of(line.split()[0]) for line in called}
    perhaps = dict.fromkeys(kind for kind, words in _WORDS.items() if any(map(words.fullmatch, programs)))
    asked: dict[Tool, list[str]] = {}
    python_files: list[str] = []
    for placed in steps:
        step, contexts = placed.step, placed.contexts
        script = contexts.shown(step.run or "")
        run = (
            frozenset[str]() if step.continue_on_error else needed_programs(script) | {(step.shell or "").strip()}
        )
        for kind, words in _WORDS.items():
            if any(words.fullmatch(program) for program in run):
                kinds[kind] = None
            elif words.search(script):
                perhaps[kind] = None
        for kind, asking in _ASKING.items():
            versions = [contexts.text(one) or "" for one in asking.findall(step.run or "")]
            if versions:
                asked.setdefault(kind, []).extend(versions)
        action = parse_uses(step.uses or "")
        stub = stub_of(action) if action else None
        if stub is None or stub not in _KIND_OF_STUB:
            continue
        kinds[_KIND_OF_STUB[stub]] = None
        setup = setup_of(placed)
        lines = setup.versions if setup else ()
        asked.setdefault(_KIND_OF_STUB[stub], []).extend(lines)
        if stub == "python" and not lines:
            python_files.append(contexts.text(step.inputs.get("python-version-file", "")) or "")
    if "python" in kinds:
        beside = {PurePosixPath(path).name for path in paths if path.count("/") <= _DEEPEST_BUILT}
        perhaps |= dict.fromkeys(kind for name, kind in _BUILT_WITH.items() if name in beside)
    return Tools(
        kinds=tuple(kinds),
        perhaps=tuple(sorted(perhaps.keys() - kinds.keys())),
        asked={kind: tuple(dict.fromkeys(lines)) for kind, lines in asked.items()},
        python_files=tuple(dict.fromkeys(file for file in python_files if file)),
    )


def python_minors(asked: str) -> tuple[str, ...] | Obstacle:
    """Return the minor versions that satisfy *asked*, best first, or why none can.

    `3.11`, `3.11.4`, `3.x`, `3`, `>=3.8`, `~3.9`, `3.13-dev`.
    """
    text = asked.strip().lower().removeprefix("cpython").lstrip("-@ ").removeprefix("python").strip()
    if text.startswith(("pypy", "graalpy")) or re.search(r"3\.\d+t\b", text):
        return Obstacle(kind="Python", what=f"{asked} is no CPython with its lock")
    exact = re.match(r"(\d+)\.(\d+)(?:$|[.-])", text)
    if exact:
        minor = f"{exact[1]}.{exact[2]}"
        return (minor,) if exact[1] == "3" else Obstacle(kind="Python", what=asked)
    if text in ("3", "3.x", "3.*", "x", "*", "latest", ""):
        return (DEFAULT_PYTHON, *(minor for minor in MINORS if minor != DEFAULT_PYTHON))
    fitting = tuple(minor for minor in MINORS if _in_range(minor, text))
    return fitting or Obstacle(kind="Python", what=asked)


def _in_range(minor: str, text: str) -> bool:
    """Whether any micro version of *minor* fits a range as npm or as Python writes it."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    parts = [part for part in re.split(r"[\s,]+", re.sub(r"([<>=~^!]+)\s+", r"\1", text)) if part]
    try:
        wanted = SpecifierSet(",".join(_as_specifier(part) for part in parts))
    except InvalidSpecifier:
        return False
    return any(wanted.contains(f"{minor}.{micro}") for micro in (0, 9, 99))


def _as_specifier(part: str) -> str:
    match = re.fullmatch(r"[\^~](\d+)(?:\.(\d+|x))?.*", part)
    if match is None:
        return part if part[0] in "<>=!~" else f"=={part.replace('x', '*')}"
    major, minor = match[1], match[2]
    if part[0] == "~" and minor not in (None, "x"):
        return f"=={major}.{minor}.*"
    return f">={major}.{minor if minor not in (None, 'x') else 0},=={major}.*"


def python_asked_by_file(path: str, read: Callable[[str], bytes | None]) -> str:
    """Return the version of Python that a file asks for; "" where it asks for none."""
    data = read(path)
    if data is None:
        return ""
    text = data.decode(errors="replace")
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        match = re.search(r"""^\s*(?:requires-python|python)\s*=\s*["']([^"']+)["']""", text, re.MULTILINE)
    elif name == ".tool-versions":
        match = re.search(r"^\s*python\s+(\S+)", text, re.MULTILINE)
    else:
        match = re.search(r"^\s*([^\s#]+)", text, re.MULTILINE)
    return match[1] if match else ""


def asked_pythons(tools: Tools, tree: RepositoryTree) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each version as the job asks for it, with the minors that fit. Raises `UnsupportedJobError`."""
    if not tools.has_python:
        return
    asked = [(one, one) for one in tools.asked.get("python", ())]
    asked += [(f"file:{path}", python_asked_by_file(path, tree.read)) for path in tools.python_files]
    for name, text in asked or [("", DEFAULT_PYTHON)]:
        minors = python_minors(text)
        if isinstance(minors, Obstacle):
            raise UnsupportedJobError((minors,))
        yield name, minors


def substitute(kind: str, asked: Sequence[str], have: str) -> str | None:
    """Return what the report says when the machine's version is not what was asked for; None when it is."""
    wanted = [one for one in asked if one.strip() and not _matches(kind, one.strip().lower(), have)]
    return f"{kind} {have} for {', '.join(wanted)[:80]}" if wanted else None


def _matches(kind: str, asked: str, have: str) -> bool:
    text = re.sub(r"^[v=]", "", asked)
    if text in ("*", "x", "latest", "current", "node", "stable", "master", "main", "v1", "1"):
        return kind != "rust" or text != "master"
    text = re.sub(r"(?:\.(?:x|\*))+$", "", text)
    return have == text or have.startswith(f"{text}.")


def unneeded_jobs(workflow: Workflow, job: Job, tree: RepositoryTree) -> dict[str, str]:
    """Return the jobs that *job* names in `needs` and takes nothing from, if they cannot be run here, with why."""
    text = job.model_dump_json(exclude={"needs"})
    if "download-artifact" in text:
        return {}
    found: dict[str, str] = {}
    named = re.findall(r"\bneeds\b(?:\s*\.\s*([\w-]+))?", text)
    for name in job.needs if "" not in named else ():
        obstacles = () if name in named else needs_of(workflow, workflow.job(name), None, tree).obstacles
        if obstacles:
            found[name] = f"{obstacles[0].kind}: {obstacles[0].what}"
    return found


def without_needs(workflow: Workflow, name: str, left_out: Collection[str]) -> Workflow:
    """Return *workflow* in which the job *name* does not wait for those *left_out*."""
    jobs = workflow.document["jobs"]
    job = jobs.get(name) if isinstance(jobs, dict) else None
    if not left_out or not isinstance(jobs, dict) or not isinstance(job, dict):
        return workflow
    kept: list[JsonValue] = [one for one in workflow.job(name).needs if one not in left_out]
    return _again(workflow, jobs | {name: job | {"needs": kept}})


def with_steps(workflow: Workflow, name: str, count: int) -> Workflow:
    """Return *workflow* in which the job *name* has its first *count* steps only."""
    jobs = workflow.document["jobs"]
    job = jobs.get(name) if isinstance(jobs, dict) else None
    steps = job.get("steps") if isinstance(job, dict) else None
    if not isinstance(jobs, dict) or not isinstance(job, dict) or not isinstance(steps, list):
        return workflow
    changed: JsonValue = {name: job | {"steps": steps[:count]}}
    assert isinstance(changed, dict)
    return _again(workflow, jobs | changed)


_STAMP = re.compile(
    r"version|semver|slug|title|label|comment|notif|slack|badge|changelog|release-notes|job-summary|stamp|timestamp"
)
"""In names of actions that name, number and announce."""
_TOOL_SETUP = re.compile(r"(?:^|/)(?:setup|install)-")


def unread_stamps(job: Job) -> tuple[int, ...]:
    """Return the positions of steps whose action has no stand-in, only names things, and is read nowhere else."""
    texts = {step.index: step.model_dump_json(exclude={"name"}) for step in job.steps}
    found: dict[int, None] = {}
    for step in job.steps:
        action = parse_uses(step.uses or "")
        if action is None or stub_of(action) is not None or is_known_unsupported(action):
            continue
        name = action.name.lower()
        if _STAMP.search(name) and not _TOOL_SETUP.search(name):
            found[step.index] = None
    read = {
        index
        for index in found
        for other, text in texts.items()
        if other not in found and job.steps[index].id and f"steps.{job.steps[index].id}." in text
    }
    return tuple(index for index in found if index not in read)


def with_skipped(workflow: Workflow, name: str, indexes: Collection[int]) -> Workflow:
    """Return *workflow* in which the job *name* skips the steps at *indexes*."""
    jobs = workflow.document["jobs"]
    job = jobs.get(name) if isinstance(jobs, dict) else None
    steps = job.get("steps") if isinstance(job, dict) else None
    if not isinstance(jobs, dict) or not isinstance(job, dict) or not isinstance(steps, list):
        return workflow
    kept: list[JsonValue] = []
    for index, step in enumerate(steps):
        known = step if isinstance(step, dict) else {}
        skipped: dict[str, JsonValue] = {key: known[key] for key in ("id", "name") if key in known}
        kept.append(skipped | {"if": False, "run": "exit 1", "shell": "bash"} if index in indexes else step)
    changed: JsonValue = {name: job | {"steps": kept}}
    assert isinstance(changed, dict)
    return _again(workflow, jobs | changed)


def _browser_obstacle(meanings: Iterable[tuple[Step, Meaning]]) -> tuple[Obstacle, ...]:
    tests = [meaning for _, meaning in meanings if meaning.purpose is Purpose.TEST]
    if not tests or any(meaning.part != IN_BROWSER for meaning in tests):
        return ()
    return (Obstacle(kind="browser", what=f"{tests[0].command}: browsers cannot be fetched"),)


def _again(workflow: Workflow, jobs: dict[str, JsonValue]) -> Workflow:
    """Return *workflow* with these *jobs*, started as it was."""
    return workflow_of(workflow.document | {"jobs": jobs}, workflow.path).but(started_by=workflow.started_by)


_NAMED = re.compile(r"\btests?\b", re.IGNORECASE)
"""What a step that runs something says where it may test, though nothing shows how."""
_SURE = 0.5
"""From which certainty on a step is one with tests, so that what follows it may be left out."""


class PlannedJob:
    """A job that can be run here: its leg, what it needs, and which of its steps run tests."""

    def __init__(
        self, request: JobRequest, languages: Iterable[Tool] = (), tree: RepositoryTree | None = None
    ) -> None:
        """Read the workflow; *tree* is read in place of the request's folder.

        Raises `WorkflowError`, and `UnsupportedJobError` naming every obstacle.
        """
        self.request = request
        self._files = FolderTree(request.tree)
        tree = tree or self._files
        data = tree.read(request.workflow)
        if data is None:
            raise WorkflowError(f"there is no workflow {request.workflow} in the repository")
        document = with_changes_known(read_yaml(data, request.workflow), tree)
        whole = workflow_of(document, request.workflow)
        self.left_out = unneeded_jobs(whole, whole.job(request.job), tree)
        """Jobs that the wanted one only waits for, and that cannot be run here, each with why."""
        self.workflow: Workflow = without_needs(whole, request.job, self.left_out)
        self.job: Job = self.workflow.job(request.job)
        self.leg: Leg = self._leg(tree)
        reader = JobReader(tree)
        self.workflow = reader.started(self.workflow, self.job, self.leg)
        meanings = reader.look(self.workflow, self.job, self.leg).meanings
        steps = reader.test_steps(self.workflow, self.job, self.leg)
        self.test_steps = steps_with_tests(steps, meanings, tree, self.job.steps)
        self.tests = self.test_steps.tests
        self.later: tuple[str, ...] = ()
        """The titles of steps after those that test, which are left out: they report and publish."""
        self.stamps: tuple[str, ...] = ()
        """Actions before the tests that have no stand-in and only name things, which are left out."""
        self._leave_out(meanings)
        self.place = checkout_folder(self.job)
        """The folder below the workspace where the job has the repository; "" for the workspace itself."""
        self.tree: RepositoryTree = InFolder(tree, self.place) if self.place else tree
        """The workspace."""
        self.needs: JobNeeds = needs_of(self.workflow, self.job, self.leg, self.tree)
        obstacles = (*self.needs.obstacles, *_browser_obstacle(meanings))
        if obstacles:
            raise UnsupportedJobError(obstacles)
        called = [meaning.command for _, meaning in meanings]
        self.tools = tools_of(self.needs.steps, languages, tree.paths(), called)
        for _ in asked_pythons(self.tools, self.tree):
            pass  # a version that no machine has is refused now, not when the job begins
        self.scripts = lenient_scripts(reader, self.workflow, self.job, self.leg) if self.tests else {}

    def _leave_out(self, meanings: Sequence[tuple[Step, Meaning]]) -> None:
        """Take steps out of the job that its tests can do without."""
        testing = self.tests | self.test_steps.silent
        named = (
            step for step in self.job.steps if step.key in testing or (step.run and _NAMED.search(step.title))
        )
        last = max((step.index for step in named), default=None)
        sure = any(meaning.purpose is Purpose.TEST and meaning.certainty >= _SURE for _, meaning in meanings)
        if last is not None and sure:
            self.later = tuple(step.title[:60] for step in self.job.steps[last + 1 :])
            self.workflow = with_steps(self.workflow, self.job.id, last + 1)
            self.job = self.workflow.job(self.job.id)
        stamps = unread_stamps(self.job)
        if stamps:
            self.stamps = tuple((self.job.steps[index].uses or "").partition("@")[0] for index in stamps)
            self.workflow = with_skipped(self.workflow, self.job.id, stamps)
            self.job = self.workflow.job(self.job.id)

    def hash_files(self, patterns: Sequence[str]) -> str:
        """Return one digest of all files that match *patterns*, which are paths in the workspace."""
        place = re.compile(rf"^(!?)(?:\./)?{re.escape(self.place)}/")
        return self._files.hash_files(tuple(place.sub(r"\1", pattern) for pattern in patterns))

    def _leg(self, tree: RepositoryTree) -> Leg:
        """Return the wanted leg, with its values as a matrix that can be foretold has them."""
        foretold = self.job.but(matrix=with_known_values(self.workflow, self.job, tree))
        try:
            return pinned(foretold, self.request.matrix)
        except WorkflowError:
            return pinned(self.job, self.request.matrix)
