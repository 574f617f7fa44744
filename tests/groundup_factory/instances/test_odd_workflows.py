"""Odd workflows: each job is run, or is refused with the true reason."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.workflows.tree import FolderTree
from groundup_factory.instances import choosing
from groundup_factory.instances.choosing import JobWish, chosen_job, with_hindrances
from groundup_factory.instances.locating import Located, locate
from tests.grading.ci.bench import repository

STEPS = "    runs-on: ubuntu-latest\n    steps: [{uses: actions/checkout@v4}, {run: pytest}]\n"


def choose(root: Path, workflow: str, wish: JobWish | None = None, **files: str) -> choosing.TestJob:
    """Return the job that an instance of a repository with this workflow gets; `__` in names is a slash."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return chosen_job(wish or JobWish(), "r", repository(root, workflow, named))


def located(root: Path, workflow: str) -> Located:
    """Return what is shown of a repository with this workflow."""
    folder = repository(root, workflow)
    return with_hindrances(locate(FolderTree(folder)), folder)


GRID = """
on: push
jobs:
  plan:
    runs-on: ubuntu-latest
    outputs: {{grid: "${{{{ steps.set.outputs.grid }}}}"}}
    steps:
      - uses: actions/checkout@v4
      - id: set
        run: |
          {script}
  test:
    needs: plan
    runs-on: ubuntu-latest
    strategy: {{matrix: {matrix}}}
    steps:
      - {{uses: actions/setup-python@v5, with: {{python-version: "${{{{ matrix.python }}}}"}}}}
      - run: pytest
"""
WHOLE = '"${{ fromJSON(needs.plan.outputs.grid) }}"'


@pytest.mark.parametrize(
    ("script", "matrix"),
    [
        ('echo "grid={\\"python\\": [\\"3.8\\", \\"3.12\\"]}" >> "$GITHUB_OUTPUT"', WHOLE),
        ('echo \'grid=["3.9", "3.12"]\' >> $GITHUB_OUTPUT', f"{{python: {WHOLE}}}"),
        ('echo "grid=$(jq -c . ci/grid.json)" >> "$GITHUB_OUTPUT"', WHOLE),
        ('printf \'grid=[{"python": "3.12"}]\\n\' >> ${GITHUB_OUTPUT}', f"{{include: {WHOLE}}}"),
    ],
)
def test_a_matrix_of_another_jobs_output_is_foretold(script: str, matrix: str, tmp_path: Path) -> None:
    """What a script writes as it stands, or reads from a file, gives the legs; the best one is taken."""
    job = choose(
        tmp_path, GRID.format(script=script, matrix=matrix), ci__grid_dot_json='{"python": ["3.7", "3.12"]}'
    )
    assert (job.name, job.leg, job.hindered) == ("test", {"python": "3.12"}, "")


def test_a_matrix_that_nobody_can_foretell_takes_a_named_leg(tmp_path: Path) -> None:
    """The refusal says which keys to name; with the leg it is a job like others."""
    workflow = GRID.format(script='echo "grid=$(python ci/grid.py)" >> "$GITHUB_OUTPUT"', matrix=WHOLE)
    with pytest.raises(TaskError, match=r"made while the workflow runs \(matrix\); name a leg with --leg python:"):
        choose(tmp_path, workflow)
    job = choose(tmp_path, workflow, JobWish(job="test", leg={"python": "3.12"}))
    assert (job.leg, job.hindered) == ({"python": "3.12"}, "")
    deep = GRID.format(script='echo "grid=$(jq -c . ci/grid.json)" >> "$GITHUB_OUTPUT"', matrix=WHOLE)
    with pytest.raises(TaskError, match="made while the workflow runs"):
        choose(tmp_path, deep, ci__grid_dot_json="[" * 100_000)


def test_an_action_for_the_owners_variables_is_left_out(tmp_path: Path) -> None:
    """Variables and secrets of the repository are empty here, so what they ask for does not run."""
    workflow = (
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n"
        "    env: {TOKEN: '${{ secrets.TOKEN }}'}\n    steps:\n"
        "      - {uses: somebody/tells@v1, if: \"vars.TELL != ''\"}\n"
        "      - {uses: somebody/signs@v1, if: env.TOKEN != ''}\n"
        "      - run: pytest\n"
    )
    assert choose(tmp_path, workflow).hindered == ""


def test_a_checkout_into_a_folder_is_followed(tmp_path: Path) -> None:
    """The job is found by what it runs there; two places for one repository are refused by name."""
    workflow = (
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - {uses: actions/checkout@v4, with: {path: code}}\n"
        "      - {run: make check, working-directory: code}\n"
    )
    job = choose(tmp_path, workflow, Makefile="check:\n\tpytest\n")
    assert (job.name, job.hindered) == ("test", "")
    twice = workflow.replace("      - {run", "      - {uses: actions/checkout@v4}\n      - {run")
    with pytest.raises(TaskError, match=r"ci\.yml: test: checkout: into the workspace here, into code elsewhere"):
        choose(tmp_path, twice)


FILTERED = f"""
on: push
jobs:
  changes:
    runs-on: ubuntu-latest
    outputs: {{src: "${{{{ steps.look.outputs.src }}}}"}}
    steps:
      - uses: actions/checkout@v4
      - id: look
        uses: dorny/paths-filter@v3
        with:
          filters: |
            src: ['src/**']
  test:
    needs: changes
    if: needs.changes.outputs.src == 'true'
{STEPS}"""


def test_a_filter_by_changed_paths_hinders_nothing(tmp_path: Path) -> None:
    """Everything changed here, so the job that asks what did is run."""
    job = choose(tmp_path, FILTERED)
    assert (job.name, job.hindered, job.passed_over) == ("test", "", ())


def test_a_job_that_cannot_be_run_never_wins(tmp_path: Path) -> None:
    """The better one comes after the one that can be run, with the reason; the same in an instance."""
    workflow = f"""
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps: [{{uses: somebody/knows-what-changed@v1}}, {{run: pytest}}]
  nightly-lint:
{STEPS}"""
    shown = located(tmp_path, workflow)
    assert [one.job for one in shown.candidates] == ["nightly-lint", "test"]
    assert shown.candidates[1].score > shown.candidates[0].score
    assert [one.refused for one in shown.candidates] == ["", "action: somebody/knows-what-changed has no stand-in"]
    assert choose(tmp_path, workflow).name == "nightly-lint"


def test_a_leg_that_can_be_run_stands_for_its_job(tmp_path: Path) -> None:
    """Of several systems and interpreters the one that is here is shown, whatever comes first."""
    workflow = """
on: push
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy: {matrix: {os: [windows-latest, ubuntu-24.04-arm, ubuntu-latest], py: [pypy-3.11, "3.13"]}}
    steps: [{uses: actions/setup-python@v6, with: {python-version: "${{ matrix.py }}"}}, {run: pytest}]
"""
    best = located(tmp_path, workflow).best
    assert best is not None
    assert (best.leg, best.refused) == ({"os": "ubuntu-latest", "py": "3.13"}, "")


def test_a_called_workflow_of_another_repository_is_named(tmp_path: Path) -> None:
    """Where no job is seen to test, the workflow that was called is the reason, not that nothing tests."""
    workflow = "on: push\njobs:\n  build:\n    uses: org/shared/.github/workflows/dotnet-build.yml@main\n"
    assert "org/shared/.github/workflows/dotnet-build.yml@main" in located(tmp_path, workflow).nothing
    with pytest.raises(TaskError, match=r"is not known: job build of .*/ci\.yml calls org/shared/"):
        choose(tmp_path, workflow)


def test_anchors_names_of_runs_and_environments_are_fine(tmp_path: Path) -> None:
    """What only describes a run, or spares its author a repetition, changes nothing."""
    workflow = """
run-name: tests by @${{ github.actor }}
on: [push, workflow_dispatch]
concurrency: {group: a, cancel-in-progress: true}
jobs:
  lint:
    runs-on: ubuntu-latest
    steps: &steps
      - &checkout {uses: actions/checkout@v4}
      - {run: ruff check}
  test:
    runs-on: ubuntu-latest
    environment: {name: ci, url: "https://example.org"}
    steps:
      - *checkout
      - {run: pytest}
"""
    job = choose(tmp_path, workflow)
    assert (job.name, job.hindered) == ("test", "")


def test_a_word_is_no_command(tmp_path: Path) -> None:
    """A sentence about another toolchain refuses nothing."""
    workflow = f"on: push\njobs:\n  test:\n{STEPS}".replace(
        "{run: pytest}", "{run: 'echo \"needs no docker, no conda and no dotnet\"'}, {run: pytest}"
    )
    assert choose(tmp_path, workflow).hindered == ""


@pytest.mark.parametrize(
    ("values", "leg"),
    [
        ('["3.12", "3.13", "3.14", "3.15"]', "3.12"),
        ('["3.15", "3.14", "3.9"]', "3.14"),
        ("[py315, py314]", "py314"),
    ],
)
def test_an_environment_that_is_a_version_is_rated_as_one(values: str, leg: str, tmp_path: Path) -> None:
    """The key `env` names versions of Python where its values are some."""
    workflow = (
        f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy: {{matrix: {{env: {values}}}}}\n"
        '    steps: [{run: "tox -e ${{ matrix.env }}"}]\n'
    )
    assert choose(tmp_path, workflow, tox_dot_ini="[testenv]\ncommands = pytest\n").leg == {"env": leg}


def test_a_job_in_a_version_that_no_machine_has_is_refused_before_it_runs(tmp_path: Path) -> None:
    """An interpreter that is no CPython 3 is named by `locate`, not by the first execution."""
    workflow = (
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n"
        '    steps: [{uses: actions/setup-python@v5, with: {python-version: "2.7"}}, {run: pytest}]\n'
    )
    with pytest.raises(TaskError, match=r"Python: 2\.7"):
        choose(tmp_path, workflow)


def test_a_missing_sdk_is_told_and_takes_no_other_job(tmp_path: Path) -> None:
    """Every machine takes the same job, and names the SDK that it lacks, be it called by a script."""
    workflow = (
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: ./build.sh}]\n"
        f"  lint-with-python:\n{STEPS}"
    )
    folder = repository(tmp_path / "r", workflow, {"build.sh": "dotnet test App.sln\n"})
    best = with_hindrances(locate(FolderTree(folder)), folder, variables={"PATH": str(tmp_path)}).best
    assert best is not None
    assert (best.job, best.refused) == ("test", "")
    assert best.lacks == ("dotnet is not on this machine; install a .NET SDK and put `dotnet` on PATH",)


@pytest.mark.parametrize(
    ("matrix", "test"),
    [
        ("{tfm: [net48, net472, net8.0]}", "dotnet test -f ${{ matrix.tfm }}"),
        ("{framework: [net481, net8.0], os: [windows-latest, ubuntu-latest]}", 'dotnet test -f "$FRAMEWORK"'),
        (
            "{include: [{t: net48, n: Full}, {t: net8.0, n: Core}]}",
            "dotnet test -p:TargetFramework=${{ matrix.t }}",
        ),
    ],
)
def test_a_leg_for_net_framework_is_never_taken(matrix: str, test: str, tmp_path: Path) -> None:
    """Of the frameworks that a test project is tested for, one that is here is taken, whatever comes first."""
    workflow = (
        f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy: {{matrix: {matrix}}}\n"
        f"    env: {{FRAMEWORK: '${{{{ matrix.framework }}}}'}}\n    steps: [{{run: '{test}'}}]\n"
    )
    project = "<TargetFrameworks>net48;net8.0</TargetFrameworks><IsTestProject>true</IsTestProject>"
    files = {"T.csproj": f'<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>{project}</PropertyGroup></Project>'}
    job = chosen_job(JobWish(), "r", repository(tmp_path, workflow, files))
    assert "net8.0" in job.leg.values()
    legs = {"tfm": "net48", "framework": "net481", "t": "net48"}
    with pytest.raises(TaskError, match=r"\.NET Framework: T\.csproj: its tests are for \.NET Framework"):
        chosen_job(JobWish(leg={key: value for key, value in legs.items() if key in job.leg}), "r", tmp_path)
