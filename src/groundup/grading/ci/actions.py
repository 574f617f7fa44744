"""Which actions of others have a stand-in here, and what keeps a job from being run, reported before it runs.

A stand-in is a composite action in `stubs/`, whose scripts use what lies ready in the steps' sandbox. The tables
say what is supported; an action in neither is not supported, and is reported by its name.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

from groundup.domain.records import Record
from groundup.grading.ci.dotnet_projects import dotnet_obstacles
from groundup.grading.ci.records import Obstacle
from groundup.workflows.commands import program_of, simple_commands
from groundup.workflows.expressions import Contexts
from groundup.workflows.jobs import PlacedStep, checkout_folder, contexts_of, folder_of_checkout, placed_steps
from groundup.workflows.matrix import Leg
from groundup.workflows.tree import RepositoryTree
from groundup.workflows.workflow import Job, Step, Workflow, read_yaml

CHECKOUT = "actions/checkout"
_USES = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(?P<below>(?:/[\w.-]+)*)@(?P<ref>\S+)")
_LINTERS = (
    "psf/black",
    "rickstaa/action-black",
    "isort/isort-action",
    "jamescurtin/isort-action",
    "py-actions/flake8",
    "cclauss/GitHub-Action-for-pylint",
    "codespell-project/actions-codespell",
    "crate-ci/typos",
    "EmbarkStudios/cargo-deny-action",
    "actions-rs/audit-check",
    "actions-rs/clippy-check",
    "actions-rust-lang/audit",
    "actions-rust-lang/rustfmt",
    "rustsec/audit-check",
    "DavidAnson/markdownlint-cli2-action",
    "ibiqlik/action-yamllint",
    "ludeeus/action-shellcheck",
    "streetsidesoftware/cspell-action",
)
"""Actions that check style or advisories: their results depend on their own release, hardly on dependencies."""
STAND_INS: Mapping[str, str] = {
    "actions/checkout": "nothing",
    "actions/setup-python": "python",
    "actions/setup-node": "node",
    "actions/setup-dotnet": "dotnet",
    "actions/cache": "cache",
    "actions/cache/restore": "cache",
    "actions/cache/save": "nothing",
    "actions/upload-artifact": "upload_artifact",
    "actions/download-artifact": "download_artifact",
    "hynek/build-and-inspect-python-package": "build_and_inspect",
    "actions-rs/cargo": "cargo",
    "actions-rs/toolchain": "rust",
    "actions-rust-lang/setup-rust-toolchain": "rust",
    "dtolnay/rust-toolchain": "rust",
    "hecrj/setup-rust-action": "rust",
    "moonrepo/setup-rust": "rust",
    "Swatinem/rust-cache": "nothing",
    "dtolnay/install": "cargo_tool",
    "taiki-e/install-action": "cargo_tool",
    "taiki-e/cache-cargo-install-action": "cargo_tool",
    "baptiste0928/cargo-install": "cargo_tool",
    "mozilla-actions/sccache-action": "nothing",
    "rui314/setup-mold": "nothing",
    "astral-sh/setup-uv": "uv",
    "hynek/setup-cached-uv": "uv",
    "yezz123/setup-uv": "uv",
    "snok/install-poetry": "poetry",
    "abatilo/actions-poetry": "poetry",
    "Gr1N/setup-poetry": "poetry",
    "pdm-project/setup-pdm": "pdm",
    "pypa/hatch": "hatch",
    "pnpm/action-setup": "pnpm",
    "bahmutov/npm-install": "npm_install",
    "bytecodealliance/actions/wasmtime/setup": "wasmtime",
    "astral-sh/ruff-action": "ruff",
    "chartboost/ruff-action": "ruff",
    **dict.fromkeys(_LINTERS, "nothing"),
    "codecov/codecov-action": "nothing",
    "codecov/test-results-action": "nothing",
    "coverallsapp/github-action": "nothing",
    "AndreMiras/coveralls-python-action": "nothing",
    "codacy/codacy-coverage-reporter-action": "nothing",
    "paambaati/codeclimate-action": "nothing",
    "qltysh/qlty-action/coverage": "nothing",
    "dorny/test-reporter": "nothing",
    "test-summary/action": "nothing",
    "pmeier/pytest-results-action": "nothing",
    "phoenix-actions/test-reporting": "nothing",
    "ctrf-io/github-test-reporter": "nothing",
    "re-actors/alls-green": "nothing",
    "EnricoMi/publish-unit-test-result-action": "nothing",
    "EnricoMi/publish-unit-test-result-action/composite": "nothing",
    "EnricoMi/publish-unit-test-result-action/linux": "nothing",
    "mikepenz/action-junit-report": "nothing",
    "irongut/CodeCoverageSummary": "nothing",
    "danielpalme/ReportGenerator-GitHub-Action": "nothing",
    "romeovs/lcov-reporter-action": "nothing",
    "py-cov-action/python-coverage-comment-action": "nothing",
    "MishaKav/pytest-coverage-comment": "nothing",
    "8398a7/action-slack": "nothing",
    "rtCamp/action-slack-notify": "nothing",
    "step-security/harden-runner": "nothing",
    "styfle/cancel-workflow-action": "nothing",
    "potiuk/cancel-workflow-runs": "nothing",
    "n1hility/cancel-previous-runs": "nothing",
    "pre-commit-ci/lite-action": "nothing",
    "r7kamura/rust-problem-matchers": "nothing",
    "microsoft/setup-msbuild": "nothing",
    "NuGet/setup-nuget": "nothing",
}
_NO_CONDA = "there is no way to conda's channels"
UNSUPPORTED: Mapping[str, str] = {
    "actions/setup-java": "Java is not prepared for CI jobs",
    "actions/setup-go": "Go is not prepared for CI jobs",
    "actions/github-script": "it asks GitHub",
    "actions/upload-artifact/merge": "kept artifacts are not merged",
    "ruby/setup-ruby": "Ruby is not prepared for CI jobs",
    "oven-sh/setup-bun": "Bun is not prepared for CI jobs",
    "denoland/setup-deno": "Deno is not prepared for CI jobs",
    "conda-incubator/setup-miniconda": _NO_CONDA,
    "goanpeca/setup-miniconda": _NO_CONDA,
    "mamba-org/provision-with-micromamba": _NO_CONDA,
    "mamba-org/setup-micromamba": _NO_CONDA,
    "prefix-dev/setup-pixi": _NO_CONDA,
    "s-weigand/setup-conda": _NO_CONDA,
    "awalsh128/cache-apt-pkgs-action": "system packages cannot be installed",
    "browser-actions/setup-chrome": "browsers cannot be fetched",
    "browser-actions/setup-firefox": "browsers cannot be fetched",
    "browser-actions/setup-geckodriver": "browsers cannot be fetched",
    "cypress-io/github-action": "browsers cannot be fetched",
    "docker/setup-buildx-action": "there is no Docker",
    "docker/setup-qemu-action": "there is no Docker",
    "docker/build-push-action": "there is no Docker",
    "docker/login-action": "there is no Docker",
    "supercharge/redis-github-action": "there is no Docker",
    "supercharge/mongodb-github-action": "there is no Docker",
}


class Action(Record):
    """An action of another repository."""

    repository: str
    below: str = ""
    ref: str

    @property
    def name(self) -> str:
        """As `owner/name` or `owner/name/folder`."""
        return f"{self.repository}{self.below}"


def parse_uses(uses: str) -> Action | None:
    """Return the action of another repository that `uses` names; None for a local one and for images."""
    match = _USES.fullmatch(uses.strip())
    if match is None:
        return None
    return Action(repository=f"{match['owner']}/{match['name']}", below=match["below"], ref=match["ref"])


def stub_of(action: Action) -> str | None:
    """Return the name of the stand-in for *action*; None when there is none."""
    return _BY_NAME.get(action.name.lower())


def why_unsupported(action: Action) -> str:
    """Return why there is no stand-in, as a sentence for a reader."""
    known = _REASONS.get(action.name.lower())
    return f"{action.name}: {known}" if known else f"{action.name} has no stand-in"


def is_known_unsupported(action: Action) -> bool:
    """Whether it is known what *action* does, and that nothing here does it."""
    return action.name.lower() in _REASONS


def tool_of_ref(action: Action) -> str:
    """Return the tool that a reference names, as in `taiki-e/install-action@cargo-hack`; nothing for a version."""
    named = action.name.lower() in _TOOL_BY_REF and not VERSION_REF.fullmatch(action.ref)
    return action.ref if named and _TOOL_NAME.fullmatch(action.ref) else ""


def inputs_of(stub: str) -> frozenset[str] | None:
    """Return the inputs that a stand-in takes, in lower case; None for one that does nothing."""
    text = files("groundup.grading.ci").joinpath("stubs", stub, "action.yml").read_text("utf-8")
    document = read_yaml(text.encode(), stub)
    inputs = document.get("inputs") if isinstance(document, dict) else None
    return frozenset(str(name).lower() for name in inputs) if isinstance(inputs, dict) else None


def write_stubs(actions: Iterable[Action], folder: Path) -> dict[str, Path]:
    """Write the stand-ins of *actions* below *folder*; return a folder for each `owner/name@ref`."""
    written: dict[str, Path] = {}
    with as_file(files("groundup.grading.ci").joinpath("stubs")) as stubs:
        for action in actions:
            stub = stub_of(action)
            if stub is None:
                continue
            place = folder / f"{action.repository}@{action.ref}".replace("/", "+")
            below = place / action.below.lstrip("/")
            below.mkdir(parents=True, exist_ok=True)
            text = (stubs / stub / "action.yml").read_text("utf-8")
            (below / "action.yml").write_text(text.replace(_NO_TOOL, _TOOL.format(tool_of_ref(action))), "utf-8")
            written[f"{action.repository}@{action.ref}"] = place
    return written


def write_programs(folder: Path) -> None:
    """Write the programs that stand-ins call, and those that stand for a runner's, into *folder*."""
    with as_file(files("groundup.grading.ci").joinpath("stubs", "bin")) as programs:
        for program in programs.iterdir():
            shutil.copyfile(program, folder / program.name)
            (folder / program.name).chmod(0o755)


_TOOL_BY_REF = frozenset({"taiki-e/install-action", "dtolnay/install"})
VERSION_REF = re.compile(r"v?\d[\w.+-]*|[0-9a-f]{7,40}|main|master|latest|HEAD|releases?/\S+")
"""References that name a version of an action and nothing else."""
_TOOL_NAME = re.compile(r"[A-Za-z][\w-]*(?:@[\w.-]+)?")
_NO_TOOL = 'tool: {default: ""}'
_TOOL = 'tool: {{default: "{}"}}'
_BY_NAME = {name.lower(): stub for name, stub in STAND_INS.items()}
_REASONS = {name.lower(): reason for name, reason in UNSUPPORTED.items()}


_OFF = r"|false|no|0"
_VALUES: Mapping[tuple[str, str], str] = {
    ("python", "architecture"): "|x64|x86_64",
    ("python", "freethreaded"): _OFF,
    ("node", "architecture"): "|x64",
    ("dotnet", "architecture"): "|x64",
    ("cache", "fail-on-cache-miss"): _OFF,
    ("cargo", "use-cross"): _OFF,
    ("pnpm", "run_install"): r"|null|true|false",
}
"""Patterns of what a stand-in can do with an input; others take any value."""
_RUST_REF = re.compile(r"stable.*|beta|nightly(?:-\d{4}-\d\d-\d\d)?|\d+\.\d+(?:\.\d+)?")
_NO_CRATES = frozenset({
    "cargo-binstall", "biome", "deepsource", "editorconfig-checker", "hugo", "knope", "osv-scanner", "protoc",
    "prek", "rclone", "shellcheck", "shfmt", "syft", "valgrind", "wasm-bindgen", "xh", "yq", "zizmor", "zola",
})  # fmt: skip
"""Tools of `taiki-e/install-action` that come as built programs only, or under another crate's name."""


def misunderstood(action: Action, inputs: Mapping[str, str | None]) -> Iterator[str]:
    """Yield what the stand-in for *action* would pass over in silence; a value of None is not known yet."""
    stub = stub_of(action)
    known = inputs_of(stub) if stub else None
    if stub is None or known is None:
        return
    for name, value in inputs.items():
        if name.lower() not in known and value != "":
            yield f"the stand-in for {action.name} does not know its input {name}"
        pattern = _VALUES.get((stub, name.lower()))
        if pattern is not None and value is not None and not re.fullmatch(pattern, value.strip(), re.IGNORECASE):
            yield f"the stand-in for {action.name} cannot do {name}: {' '.join(value.split())[:60]}"
    if stub == "cargo_tool":
        yield from _tools(action, inputs)
    if (
        action.name.lower() == "dtolnay/rust-toolchain"
        and "toolchain" not in inputs
        and not _RUST_REF.fullmatch(action.ref)
        and not VERSION_REF.fullmatch(action.ref)
    ):
        yield f"{action.name}@{action.ref} names no toolchain that is known"


def _tools(action: Action, inputs: Mapping[str, str | None]) -> Iterator[str]:
    given = {name.lower(): value for name, value in inputs.items()}
    tools = [given[name] for name in ("tool", "crate") if given.get(name, "") != ""] or [tool_of_ref(action)]
    for text in tools:
        names = None if text is None else [name for name in re.split(r"[\s,]+", text) if name]
        if names == []:
            yield f"{action.name}@{action.ref} names no tool"
        for name in names or ():
            if name.partition("@")[0] in _NO_CRATES:
                yield f"{action.name}: {name} is not available as a crate"


_SHELLS = ("bash", "sh", "python", "python3", "node", "pwsh")
_LINUX = re.compile(r"ubuntu|linux", re.IGNORECASE)
_OTHER_SYSTEM = re.compile(r"windows|macos|mac-", re.IGNORECASE)
_OTHER_MACHINE = re.compile(r"arm64|aarch64|-arm\b|s390x|ppc64le|riscv", re.IGNORECASE)
_UPLOADER = re.compile(r"(?:coveralls|codecov|codacy|codeclimate|cc-test-reporter)\b")
_PREPARES_UPLOAD = re.compile(
    r"(?:python -m )?pip install |(?:curl|wget|chmod) |coverage (?:xml|lcov|json)\b|(?:bash|sh) (?:-|$)"
)


class JobNeeds(NamedTuple):
    """What a job with all that it needs consists of."""

    obstacles: tuple[Obstacle, ...]
    actions: tuple[Action, ...]
    """Those with a stand-in, each once."""
    local_actions: dict[str, frozenset[int]]
    """Folders of the repository's own actions, with the positions of their steps that may run in some call."""
    steps: tuple[PlacedStep, ...]
    """Steps of the wanted job that may run, those of local actions included."""


def needs_of(workflow: Workflow, job: Job, leg: Leg | None, tree: RepositoryTree) -> JobNeeds:
    """Look at *job* in *leg* (None: any), and what it needs, without running anything; *tree* is its workspace."""
    looking = _Looking(workflow, tree, checkout_folder(job))
    for needed in workflow.needed(job.id):
        # A needed job runs in all its legs, so nothing is known of its matrix.
        looking.job(needed, leg if needed.id == job.id else None, wanted=needed.id == job.id)
    looking.obstacles += dotnet_obstacles(looking.steps, tree)
    return JobNeeds(
        obstacles=tuple(dict.fromkeys(looking.obstacles)),
        actions=tuple(dict.fromkeys(looking.actions)),
        local_actions={folder: frozenset(steps) for folder, steps in looking.local.items()},
        steps=tuple(looking.steps),
    )


class _Looking:
    def __init__(self, workflow: Workflow, tree: RepositoryTree, place: str) -> None:
        self.obstacles: list[Obstacle] = []
        self.actions: list[Action] = []
        self.local: dict[str, set[int]] = {}
        self.steps: list[PlacedStep] = []
        self._workflow = workflow
        self._tree = tree
        self._place = place
        """The folder below the workspace where the wanted job has the repository; all jobs get the same copy."""

    def job(self, job: Job, leg: Leg | None, *, wanted: bool) -> None:
        if job.reusable:
            self._tell("reusable workflow", job.reusable)
        if job.services:
            self._tell("services", ", ".join(job.services))
        if job.container:
            self._tell("container", job.container)
        contexts = contexts_of(self._workflow, job, leg)
        self._runner(job, contexts)
        for placed in placed_steps(job.steps, contexts, self._tree):
            if placed.calls:
                self.local.setdefault(placed.calls, set())
            if only_uploads(placed.step):
                continue
            if placed.action:
                self.local[placed.action].add(placed.step.index)
            if wanted:
                self.steps.append(placed)
            self._step(placed, job)

    def _runner(self, job: Job, contexts: Contexts) -> None:
        labels = [contexts.text(label) for label in job.runs_on]
        known = " ".join(label for label in labels if label is not None)
        if _OTHER_MACHINE.search(known) or (_OTHER_SYSTEM.search(known) and not _LINUX.search(known)):
            self._tell("runner", known)

    def _step(self, placed: PlacedStep, job: Job) -> None:
        step = placed.step
        if step.run is not None:
            default = None if placed.action else job.shell
            program = (step.shell or default or "bash").split()[0]
            if program not in _SHELLS and "${{" not in program:
                self._tell("shell", f"{program} (step {step.title!r})")
            called = None if step.continue_on_error else _lacking_called(placed.contexts.shown(step.run))
            if called is not None:
                kind, why = _LACKING[program_of(called[0])]
                self._tell(kind, f"{' '.join(called[:2])} (step {step.title!r}): {why}")
            fetched = None if step.continue_on_error else _archive_fetched(placed.contexts.shown(step.run))
            if fetched is not None:
                self._tell("network", f"{fetched} (step {step.title!r}) is unpacked, and jobs have no network")
        elif step.uses:
            self._uses(placed, step.uses)

    def _uses(self, placed: PlacedStep, uses: str) -> None:
        if uses.startswith("docker://"):
            self._tell("container", uses)
        elif uses.startswith("./"):
            if placed.trouble is not None:
                self._tell("action", placed.trouble)
        elif (action := parse_uses(uses)) is None:
            self._tell("action", f"{uses} cannot be understood")
        elif action.name.lower() == CHECKOUT:
            self._checkout(placed, action)
        elif stub_of(action) is None:
            self._tell("action", why_unsupported(action))
        else:
            self.actions.append(action)
            given = {name: placed.contexts.text(text) for name, text in placed.step.inputs.items()}
            for why in misunderstood(action, given):
                self._tell("action", why)

    def _checkout(self, placed: PlacedStep, action: Action) -> None:
        # act does a checkout itself, but asks GitHub for the action where a reference is named.
        self.actions.append(action)
        inputs = placed.step.inputs
        other = placed.contexts.text(inputs.get("repository", ""))
        if other != "" and "github.repository" not in inputs.get("repository", ""):
            self._tell("checkout", f"of another repository, {other or inputs['repository']}")
        elif folder_of_checkout(placed.step) != self._place:
            here, there = inputs.get("path") or "the workspace", self._place or "the workspace"
            self._tell("checkout", f"into {here} here, into {there} elsewhere")

    def _tell(self, kind: str, what: str) -> None:
        self.obstacles.append(Obstacle(kind=kind, what=what[:200]))


_LACKING: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("docker", "docker-compose", "podman"), ("container", "there is no Docker")),
    **dict.fromkeys(("conda", "mamba", "micromamba", "pixi"), ("conda", _NO_CONDA)),
    **dict.fromkeys(("mono", "nuget", "msbuild", "xbuild", "vstest.console"), ("mono", "there is no Mono")),
    "powershell": ("shell", "there is no Windows PowerShell"),
}
"""Programs that no job has here, whatever it installs: the kind of obstacle, and why."""
_MAY_FAIL = re.compile(r"\|\|\s*(?:true|:|echo|exit 0)|command -v|which |\bif\b|set \+e")


def _lacking_called(script: str) -> Sequence[str] | None:
    """Return the first command of a program in `_LACKING` that a script cannot do without."""
    if _MAY_FAIL.search(script):
        return None
    return next((words for words in simple_commands(script) if program_of(words[0]) in _LACKING), None)


_UNPACKED = re.compile(
    r"\b(?:wget|curl)\b[^|\n]*?(https?://[^\s|'\"]+)[^|\n]*\|\s*(?:sudo\s+)?(?:tar|bunzip2|gunzip|funzip)\b"
)


def _archive_fetched(script: str) -> str | None:
    """Return the address of an archive that a script fetches and unpacks in one line; None: there is none."""
    found = None if _MAY_FAIL.search(script) else _UNPACKED.search(script)
    return found[1] if found else None


def only_uploads(step: Step) -> bool:
    """Whether a step's script does nothing but send a report to a service or the job's page, and prepare that."""
    commands = list(simple_commands(step.run or ""))
    sending = [_sends_report(words) for words in commands]
    return any(sending) and all(
        sends or _PREPARES_UPLOAD.match(" ".join((program_of(words[0]), *words[1:], "")))
        for sends, words in zip(sending, commands, strict=True)
    )


_PRINTERS = frozenset({"cat", "echo", "printf", "head", "tail", "grep", "sed"})


def _sends_report(words: Sequence[str]) -> bool:
    program = program_of(words[0])
    module = words[2] if program == "python" and words[1:2] == ["-m"] and len(words) > 2 else ""
    fetched = program in ("bash", "sh", "curl", "wget") and any("codecov.io" in word for word in words[1:])
    summed = program in _PRINTERS and ">>" in words and "GITHUB_STEP_SUMMARY" in words[-1]
    return fetched or summed or bool(_UPLOADER.match(module or program))
