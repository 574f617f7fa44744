"""Which job, and which leg of it."""

import pytest

from groundup_factory.instances.locating import locate
from tests.groundup_factory.instances.made import best, located
from tests.workflows.made import MadeTree

MATRIX = """
on: [push, pull_request]
jobs:
  lint:
    runs-on: ubuntu-latest
    steps: [{run: flake8}]
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [windows-latest, ubuntu-latest]
        python-version: ["3.9", "3.11", "3.12", "3.13t", "pypy-3.10"]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python-version }}"}
      - run: pip install . pytest
      - run: pytest
  integration:
    runs-on: ubuntu-latest
    services: {db: {image: postgres}}
    steps: [{run: pytest tests/integration}]
"""


def test_the_plain_test_job_is_taken_on_linux_with_a_common_version() -> None:
    """Lint is no candidate; the job beside a service comes second; the leg is Linux and a released CPython."""
    found = located(MATRIX)

    assert [one.job for one in found.candidates] == ["test", "integration"]
    assert found.best is not None
    assert found.best.leg == {"os": "ubuntu-latest", "python-version": "3.12"}
    assert "services: db" in found.candidates[1].hindrances
    assert any("pytest" in reason for reason in found.best.reasons)


@pytest.mark.parametrize(
    ("matrix", "leg"),
    [
        ("{include: [{env: lint, python: 3.12}, {env: py311, python: 3.11}]}", {"env": "py311", "python": "3.11"}),
        ("{include: [{env: py39-min}, {env: py39}]}", {"env": "py39"}),
        ("{env: [py313, py312, pypy3]}", {"env": "py312"}),
    ],
)
def test_the_leg_decides_what_a_job_runs(matrix: str, leg: dict[str, str]) -> None:
    """A leg that lints, or takes the lowest versions, is not the one, though it is in the test job."""
    workflow = f"""
on: push
jobs:
  tox:
    runs-on: ubuntu-latest
    strategy: {{matrix: {matrix}}}
    steps: [{{run: "tox -e ${{{{ matrix.env }}}}"}}]
"""
    tox = "[testenv]\ncommands = pytest\n[testenv:lint]\ncommands = flake8\n"

    assert best(workflow, tox_dot_ini=tox).leg == leg


def test_a_called_workflow_speaks_for_its_caller() -> None:
    """The job that calls is named, with what it calls; a workflow that is only called is no candidate itself."""
    called = (
        "on: {workflow_call: {inputs: {extra: {default: x}}}}\njobs:\n  unit:\n    runs-on: ubuntu-latest\n    "
    )
    files = {
        ".github/workflows/ci.yml": "on: push\njobs:\n  all:\n    uses: ./.github/workflows/reusable.yml\n",
        ".github/workflows/reusable.yml": called + "steps: [{run: cargo test}]\n",
    }
    found = locate(MadeTree(files))

    assert [(one.workflow, one.job) for one in found.candidates] == [(".github/workflows/ci.yml", "all")]
    assert found.candidates[0].through == ".github/workflows/reusable.yml: unit"


def test_a_workflow_of_another_repository_is_a_guess_that_says_so() -> None:
    """Its steps cannot be read, so it is a candidate by its name only, with the hindrance named."""
    found = best("on: push\njobs:\n  main:\n    uses: somebody/workflows/.github/workflows/tox.yml@v1\n")

    assert "another repository" in found.hindrances[0]


def test_steps_of_local_actions_count() -> None:
    """`uses: ./...` is followed into its composite action, inputs included."""
    workflow = """
on: push
jobs:
  check:
    runs-on: ubuntu-latest
    steps: [{uses: ./.github/actions/go, with: {what: tests}}]
"""
    action = (
        'inputs: {what: {}}\nruns: {using: composite, steps: [{run: "pytest ${{ inputs.what }}", shell: bash}]}\n'
    )
    found = locate(MadeTree({".github/workflows/a.yml": workflow, ".github/actions/go/action.yml": action}))

    assert found.best is not None
    assert found.best.commands == ("pytest tests",)


def test_a_job_that_runs_a_part_of_the_tests_comes_second() -> None:
    """Its reasons say which part."""
    found = located(
        "on: push\njobs: {some: {runs-on: ubuntu-latest, steps: [{run: pytest tests/test_api.py}]}, "
        "every: {runs-on: ubuntu-latest, steps: [{run: pytest}]}}\n"
    )
    assert [one.job for one in found.candidates] == ["every", "some"]
    assert [one for one in found.candidates[1].reasons if "not the whole suite" in one] == [
        "-4.0 not the whole suite: only tests/test_api.py"
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "false", "${{ false }}", "${{ always() && false }}", "failure()", "github.ref == 'refs/heads/release'",
        "vars.RUN_TESTS == 'true'",
    ],
)  # fmt: skip
def test_a_job_whose_condition_does_not_hold_comes_last(condition: str) -> None:
    """It never runs here, whatever it is called."""
    jobs = f'test: {{runs-on: ubuntu-latest, if: "{condition}", steps: [{{run: pytest}}]}}'
    other = "odd: {runs-on: [self-hosted], steps: [{run: pytest tests/integration}]}"
    found = located(f"on: push\njobs: {{{jobs}, {other}}}\n")
    assert found.best is not None
    assert found.best.job == "odd"


def test_jobs_that_are_started_by_hand_or_by_tags_come_last() -> None:
    """What runs for every change is preferred to what is scheduled or released."""
    files = {
        ".github/workflows/a.yml": "on: schedule\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: pytest}]}}",
        ".github/workflows/b.yml": "on: push\njobs: {all: {runs-on: ubuntu-latest, steps: [{run: pytest}]}}",
        ".github/workflows/c.yml": "on: push\njobs: {test: {runs-on: ubuntu-latest, "
        "if: \"startsWith(github.ref, 'refs/tags')\", steps: [{run: pytest}]}}\n",
    }

    found = locate(MadeTree(files)).best

    assert found is not None
    assert found.workflow == ".github/workflows/b.yml"


def test_nothing_is_located_where_nothing_tests() -> None:
    """A repository that only lints has no candidate; a file that is no workflow is reported."""
    found = located("on: push\njobs: {lint: {runs-on: ubuntu-latest, steps: [{run: ruff check}]}}\n")
    broken = located("on: [push\njobs: {")

    assert found.best is None
    assert "1 workflow was read" in found.nothing
    assert "no workflows of GitHub" in locate(MadeTree({})).nothing
    assert broken.best is None
    assert "not YAML" in broken.unread[0]


def test_a_matrix_that_is_made_while_running_is_reported() -> None:
    """Legs that cannot be named are a hindrance, not an error."""
    found = best(
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n"
        "    strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.b) }}'}}\n"
        "    steps: [{run: pytest}]\n"
    )

    assert any("while the workflow runs" in one for one in found.hindrances)


def test_bare_tox_runs_its_own_default() -> None:
    """Without a list of environments `tox` runs what every environment runs, which beats one for coverage."""
    workflow = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps: [{run: pip install tox}, {run: tox}]
  collateral:
    runs-on: ubuntu-latest
    strategy: {matrix: {job: [diffcov, docs]}}
    steps: [{run: pip install tox}, {run: "tox -e ${{ matrix.job }}"}]
"""
    tox = "[testenv]\ncommands =\n    pytest {posargs}\n[testenv:diffcov]\ncommands = pytest --cov\n"
    found = best(workflow, tox_dot_ini=tox)

    assert (found.job, found.commands) == ("test", ("tox py → pytest",))


@pytest.mark.parametrize(
    ("values", "leg"),
    [
        ("${{ fromJson(needs.build.outputs.supported_python_classifiers_json_array) }}", "3.12"),
        ('${{ fromJSON(\'["3.10", "3.11"]\') }}', "3.11"),
    ],
)
def test_a_matrix_that_can_be_foretold_has_a_leg(values: str, leg: str) -> None:
    """Constants are read, and the versions that `build-and-inspect` will find in the package's classifiers."""
    workflow = f"""
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{{uses: hynek/build-and-inspect-python-package@v2}}]
  test:
    needs: build
    runs-on: ubuntu-latest
    strategy: {{matrix: {{python: '{values.replace("'", "''")}'}}}}
    steps: [{{run: pytest}}]
"""
    classifiers = "".join(f'  "Programming Language :: Python :: 3.{minor}",\n' for minor in (9, 12, 14))
    found = best(workflow, pyproject_dot_toml=f"[project]\nclassifiers = [\n{classifiers}]\n")
    assert (found.job, found.leg, found.is_dynamic) == ("test", {"python": leg}, False)


@pytest.mark.parametrize(
    ("matrix", "script", "leg"),
    [
        (
            "{toolchain: [stable, nightly]}",
            "for f in '' '--features std'; do cargo test --no-default-features $f; done",
            {"toolchain": "stable"},
        ),
        ("{include: [{tox: py310-otherdev}, {tox: py39}]}", "tox -e ${{ matrix.tox }}", {"tox": "py39"}),
        (
            "{features: ['', '--features serde']}",
            "cargo test ${{ matrix.features }}",
            {"features": "--features serde"},
        ),
        (
            "{include: [{python: '3.12', kind: slurm}, {python: '3.11', kind: ''}]}",
            "pytest tests${{ matrix.kind && '/test_slurm.py' || '' }}",
            {"python": "3.11", "kind": ""},
        ),
    ],
)
def test_a_leg_is_released_and_needs_what_the_package_declares(
    matrix: str, script: str, leg: dict[str, str]
) -> None:
    """A nightly does not win by running a little more; features are on; one file is not the suite."""
    workflow = f"""
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: {{matrix: {matrix}}}
    steps:
      - if: matrix.toolchain
        uses: dtolnay/rust-toolchain@master
        with: {{toolchain: "${{{{ matrix.toolchain }}}}"}}
      - {{run: cargo test --all-features, if: "matrix.toolchain == 'nightly'"}}
      - run: |
          {script}
"""
    tox = "[testenv]\ncommands = pytest\n"
    assert best(workflow, tox_dot_ini=tox).leg == leg
