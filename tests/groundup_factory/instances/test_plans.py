"""A job as it is planned for grading, beside the same job as its instance was made for."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from groundup.domain.errors import TaskError
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, UnsupportedJobError
from groundup.suites.dibench.dataset import Instance, InstanceMetadata
from groundup.suites.dibench.execution_files import job_command
from groundup.workflows.jobs import JobReader
from groundup.workflows.matrix import flat, legs
from groundup.workflows.runners import Purpose
from groundup.workflows.tree import FolderTree
from groundup_factory.instances.choosing import JobWish, chosen_job
from groundup_factory.instances.locating import locate, read_workflows
from tests.effort import often

FILES = {
    "Makefile": "check:\n\tpython -m pytest\nlint:\n\truff check\n",
    "tox.ini": "[tox]\nenvlist = py312, lint\n[testenv]\ncommands = pytest\n[testenv:lint]\ncommands = flake8\n",
    "package.json": '{"scripts": {"test": "mocha", "lint": "eslint ."}}',
    "ci/run.sh": 'cargo "${1:-build}" --all\n',
    ".github/actions/test/action.yml": "inputs: {what: {default: tests}}\nruns:\n  using: composite\n  steps:\n"
    '    - {run: pip install ., shell: bash}\n    - {run: "pytest ${{ inputs.what }}", shell: bash}\n',
}
VALUES = st.one_of(
    st.sampled_from(["3.9", "3.12", "py312", "lint", "stable", "nightly", "ubuntu-latest", "windows-latest", ""]),
    st.sampled_from([1, 2, 3.1, True, False]),
    st.fixed_dictionaries({"name": st.sampled_from(["a", "b"]), "n": st.integers(0, 2)}),
)
ROW = st.dictionaries(st.sampled_from(["os", "py", "env", "extra"]), VALUES, min_size=1, max_size=3)
MATRIX = st.fixed_dictionaries(
    {},
    optional={
        "os": st.lists(st.sampled_from(["ubuntu-latest", "windows-latest", "macos-14"]), min_size=1, max_size=3),
        "py": st.lists(VALUES, min_size=1, max_size=3),
        "env": st.lists(VALUES, min_size=1, max_size=2),
        "include": st.lists(ROW, max_size=3),
        "exclude": st.lists(ROW, max_size=2),
    },
)
CONDITIONS = st.sampled_from(
    ["runner.os == 'Linux'", "matrix.py != '3.9'", "matrix.env == 'lint'", "always()", "failure()", "matrix.extra",
     "env.MODE == 'full'", "github.event_name == 'push'", "steps.a.outputs.b == '1'", "matrix.env.name == 'a'"]
)  # fmt: skip
SCRIPTS = st.sampled_from(
    ["pip install -e .", "pytest -q", "make check", "make lint", "tox -e ${{ matrix.env }}", "npm test", "npm ci",
     "./ci/run.sh test", "./ci/run.sh", "cargo test --no-run", "if true; then\n  cargo test\nfi", "ruff check .",
     "coverage run -m unittest && coverage xml", "echo MODE=fast >> $GITHUB_ENV", "${RUN:-pytest} tests"]
)  # fmt: skip
STEPS = st.one_of(
    st.fixed_dictionaries(
        {"run": SCRIPTS},
        optional={"if": CONDITIONS, "name": st.sampled_from(["Run tests", "Build", "Lint"]),
                  "env": st.fixed_dictionaries({"RUN": st.sampled_from(["mypy", "${{ matrix.extra }}"])})},
    ),
    st.fixed_dictionaries({"uses": st.just("./.github/actions/test")}, optional={"if": CONDITIONS}),
    st.just({"uses": "actions/checkout@v4"}),
    st.just({"uses": "actions/setup-python@v5", "with": {"python-version": "${{ matrix.py }}"}}),
)  # fmt: skip
JOBS = st.fixed_dictionaries(
    {"runs-on": st.sampled_from(["ubuntu-latest", "${{ matrix.os }}"]), "steps": st.lists(STEPS, max_size=5)},
    optional={"strategy": st.fixed_dictionaries({"matrix": MATRIX})},
)
WORKFLOWS = st.fixed_dictionaries(
    {
        "on": st.sampled_from(["push", ["pull_request"], {"push": {"branches": ["main"]}}]),
        "jobs": st.dictionaries(st.sampled_from(["test", "build", "lint"]), JOBS, min_size=1, max_size=2),
    },
    optional={"env": st.just({"MODE": "full"})},
)


def repository(root: Path, workflow: object) -> Path:
    """Write a repository of this workflow, whose names of its own lead to tests or to something else."""
    for path, text in {**FILES, ".github/workflows/ci.yml": json.dumps(workflow)}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def planned(root: Path, command: str) -> PlannedJob:
    """Return the job that an instance's command names, as grading plans it; what cannot run here is left out."""
    instance = Instance(
        instance_id="x", metadata=InstanceMetadata(), language="python", act_command=command,
        ci_file=".github/workflows/ci.yml", patch="x", build_files=("x",), env_specs={},
    )  # fmt: skip
    wanted = job_command(instance)
    try:
        return PlannedJob(
            JobRequest(tree=root, workflow=wanted.workflow, job=wanted.job or "", matrix=wanted.matrix)
        )
    except UnsupportedJobError:
        assume(False)  # hypothesis' own
        raise


@settings(deadline=None, max_examples=often(40))
@given(WORKFLOWS)
def test_curation_and_grading_see_the_same_leg_and_the_same_tests(workflow: Mapping[str, object]) -> None:
    """The job that is located is graded in the very leg that was looked at, by the very steps that test there."""
    with tempfile.TemporaryDirectory() as folder:
        root = repository(Path(folder), workflow)
        tree = FolderTree(root)
        found = locate(tree)
        assume(found.best is not None)
        assert found.best is not None
        try:
            job = chosen_job(JobWish(), "x", root)
        except TaskError:
            assume(False)  # an exclusion left no leg, or none can be run here
            raise
        plan = planned(root, job.act_command)

        located = {(one.workflow, one.job): one.legs for one in found.candidates}
        assert dict(flat(plan.leg)) in located[job.workflow, job.name]
        look = JobReader(tree).look(plan.workflow, plan.job, plan.leg)
        testing = {step.key for step, meaning in look.meanings if meaning.purpose is Purpose.TEST}
        assert plan.tests == testing != set()


@settings(deadline=None, max_examples=20)
@given(WORKFLOWS)
def test_every_leg_can_be_named(workflow: Mapping[str, object]) -> None:
    """Each leg that curation looks at is the one that grading takes when it is given the leg's values."""
    with tempfile.TemporaryDirectory() as folder:
        root = repository(Path(folder), workflow)
        (one,), _ = read_workflows(FolderTree(root))
        for job in one.jobs:
            for leg in legs(job.matrix):
                request = JobRequest(tree=root, workflow=one.path, job=job.id, matrix=dict(flat(leg)))
                try:
                    plan = PlannedJob(request)
                except UnsupportedJobError:
                    continue
                assert dict(flat(plan.leg)) == dict(flat(leg))
