"""Jobs run for real: act in one sandbox, steps in another."""

import pathlib
import re

import pytest

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.grading.ci.job import run_job
from groundup.grading.ci.records import (
    JOB_LIMITS,
    FailureKind,
    JobOutcome,
    JobRequest,
    UnsupportedJobError,
    failure_of,
)
from tests.grading.ci import bench
from tests.grading.ci.bench import PYTHON, log_of, needs_sandbox, run, steps
from tests.sandbox.fake import FakeProvider

pytestmark = [pytest.mark.end_to_end, needs_sandbox]
CHECKOUT = "uses: actions/checkout@v4"
TEST = "{name: Run tests, run: 'test -f marker && echo all green'}"


async def test_a_green_job_passes(tmp_path: pathlib.Path) -> None:
    """Files of the repository are there, the step with tests ran, and its record holds the exit code."""
    result = await run(tmp_path, steps(CHECKOUT, TEST), {"marker": ""})
    assert (result.outcome, result.reason) == (JobOutcome.PASSED, "")
    checkout, test = result.steps
    assert (checkout.result, test.result, test.exit_codes) == ("success", "success", (0,))
    assert "all green" in log_of(result)


async def test_a_checkout_of_a_reference_asks_nobody(tmp_path: pathlib.Path) -> None:
    """Whatever reference a checkout names, the tree is the one that is tested."""
    result = await run(tmp_path, steps("{uses: actions/checkout@v7, with: {ref: v1.0}}", TEST), {"marker": ""})
    assert (result.outcome, result.reason) == (JobOutcome.PASSED, "")


async def test_a_red_job_fails_with_its_step(tmp_path: pathlib.Path) -> None:
    """The failed step and its output are reported, and later steps are not reached."""
    result = await run(tmp_path, steps(CHECKOUT, TEST, "run: echo never"))
    assert result.outcome is JobOutcome.FAILED
    assert result.reason == "step 'Run tests' failed with exit code 1"
    assert result.steps[2].result in ("not reached", "skipped")
    assert "never" not in log_of(result).replace("echo never", "")


async def test_steps_speak_to_each_other(tmp_path: pathlib.Path) -> None:
    """Variables, folders for PATH, outputs, temporary files and background processes reach later steps."""
    workflow = steps(
        CHECKOUT,
        '{id: first, run: \'echo A=one >> $GITHUB_ENV; echo "B<<E\ntwo\nE" >> $GITHUB_ENV; '
        "echo out=three >> $GITHUB_OUTPUT; mkdir $RUNNER_TEMP/bin; echo $RUNNER_TEMP/bin >> $GITHUB_PATH; "
        'printf "#!/bin/sh\necho four\n" > $RUNNER_TEMP/bin/tool; chmod +x $RUNNER_TEMP/bin/tool; sleep 60 &\'}',
        "{run: 'echo \"::set-output name=old::five\"', id: second}",
        "{name: test, shell: bash, run: 'echo \"$A $B ${{ steps.first.outputs.out }} $(tool) "
        "${{ steps.second.outputs.old }} $(grep -lx sleep /proc/[0-9]*/comm | wc -l) "
        '${{ env.A }}" | tee /dev/stderr | '
        'grep -qx "one two three four five 1 one"\'}',
        '{working-directory: sub, run: \'test "$PWD" = "$GITHUB_WORKSPACE/sub"\'}',
    ).replace("\ntwo\nE", "\\ntwo\\nE")
    workflow = workflow.replace('echo "B<<E\\ntwo\\nE"', 'printf "B<<E\\ntwo\\nE\\n"')
    workflow = workflow.replace('"#!/bin/sh\necho four\n"', '"#!/bin/sh\\necho four\\n"')
    result = await run(tmp_path, workflow, {"sub/file": ""})
    assert result.outcome is JobOutcome.PASSED, log_of(result)


@pytest.mark.needs("node")
async def test_nvm_answers_with_the_node_that_is_here(tmp_path: pathlib.Path) -> None:
    """Runners have nvm: sourced or called, it gives the machine's Node.js, which is reported as a substitute."""
    script = r'. "$NVM_DIR/nvm.sh"; nvm install 4.2; nvm use 4.2; nvm exec 4.2 node --version | grep "^v"'
    result = await run(tmp_path, steps(f"{{name: test, run: '{script}'}}"))
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert any("for 4.2" in one for one in result.substitutes)


@pytest.mark.needs("cargo")
async def test_cargo_tools_are_installed_or_missed_aloud(tmp_path: pathlib.Path) -> None:
    """The stand-in calls Cargo with crate and version, and a crate without the program fails the step."""
    cargo = '#!/bin/sh\necho "$@" >> asked\ncase "$*" in *hack*) ;; *) exit 0 ;; esac\n'
    cargo += 'printf "#!/bin/sh\\n" > bin/cargo-hack; chmod +x bin/cargo-hack\n'
    script = "export PATH=$PWD/bin:$PATH; echo $PATH | grep -q /.cargo/bin; chmod +x bin/*; "
    script += "TOOLS=cargo-hack@0.6 setup-cargo-tool && "
    script += (
        'grep -qx "install --quiet --locked --version 0.6 cargo-hack" asked && ! TOOLS=nextest setup-cargo-tool'
    )
    workflow = steps(CHECKOUT, f"{{name: test, run: '{script}'}}")
    result = await run(tmp_path, workflow, {"bin/cargo": cargo})
    assert result.outcome is JobOutcome.PASSED, log_of(result)


async def test_only_tests_decide_where_a_check_of_style_fails(tmp_path: pathlib.Path) -> None:
    """A linter that fails before the tests is passed over, and the record names it."""
    check = "{name: Lint, run: 'export PATH=$PWD:$PATH; chmod +x flake8\n\n  flake8 src'}"
    files = {"marker": "", "flake8": "#!/bin/sh\nexit 3\n"}
    result = await run(tmp_path, steps(CHECKOUT, check, TEST), files)
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert any(one.startswith("flake8 src: failed and was passed over") for one in result.substitutes)


async def test_needed_jobs_run_first_and_apart(tmp_path: pathlib.Path) -> None:
    """Outputs of a needed job arrive, what it left in its folder does not, and its failure fails the job."""
    workflow = (
        "on: push\njobs:\n  pre:\n    runs-on: ubuntu-latest\n    outputs: {word: '${{ steps.a.outputs.word }}'}\n"
        "    steps: [{id: a, run: 'echo word=hello >> $GITHUB_OUTPUT; touch left; exit ${{ vars.NONE || 0 }}'}]\n"
        "  test:\n    needs: pre\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - {name: test, run: 'test ${{ needs.pre.outputs.word }} = hello && test ! -e left'}\n"
    )
    assert (await run(tmp_path / "a", workflow)).outcome is JobOutcome.PASSED
    failed = await run(tmp_path / "b", workflow.replace("|| 0", "|| 3"))
    assert failed.outcome is not JobOutcome.PASSED


async def test_one_leg_runs(tmp_path: pathlib.Path) -> None:
    """Of a matrix exactly the wanted leg is run."""
    matrix = "    strategy: {matrix: {word: [one, two], n: [1, 2]}}\n"
    workflow = steps("{name: test, run: 'echo leg ${{ matrix.word }} ${{ matrix.n }}'}", head=matrix)
    result = await run(tmp_path, workflow, matrix={"word": "two"})
    assert result.outcome is JobOutcome.PASSED
    assert result.leg == {"word": "two", "n": 1}
    assert log_of(result).count("\nleg ") == 1


async def test_a_step_without_its_folder_fails_and_says_so(tmp_path: pathlib.Path) -> None:
    """What an earlier step did to the runner's folder is in the log of the step that it breaks."""
    result = await run(tmp_path, steps("run: rm -r $RUNNER_TEMP; touch $RUNNER_TEMP", "{name: test, run: echo}"))
    assert result.outcome is JobOutcome.FAILED
    assert "the step's files cannot be written" in log_of(result)


async def test_skipped_tests_are_no_pass(tmp_path: pathlib.Path) -> None:
    """A green job whose tests were skipped shows nothing."""
    result = await run(tmp_path, steps("run: echo hello", "{name: test, if: 'false', run: pytest}"))
    assert result.outcome is JobOutcome.NOT_RUN
    skipped = await run(tmp_path / "job", steps("{name: test, run: echo}", head="    if: false\n"))
    assert skipped.outcome is JobOutcome.NOT_RUN


async def test_time_ends_a_job(tmp_path: pathlib.Path) -> None:
    """A job that hangs is ended at its deadline and reported as such."""
    result = await run(tmp_path, steps("{name: test, run: sleep 600}"), timeout_s=6.0)
    assert result.outcome is JobOutcome.TIMEOUT


async def test_stand_ins_do_their_part(tmp_path: pathlib.Path) -> None:
    """Caches hold nothing, uploads send nothing, hashes are made of the repository, local actions are followed."""
    workflow = steps(
        CHECKOUT,
        "{uses: actions/cache@v4, id: cache, with: {path: x, key: \"a-${{ hashFiles('**/*.lock') }}\"}}",
        "{if: steps.cache.outputs.cache-hit != 'true', run: touch missed}",
        "uses: ./.github/actions/own",
        "{name: test, run: 'test -f missed && test -f own && test -n \"${{ hashFiles(''a.lock'') }}\" "
        "&& test -z \"${{ hashFiles(''b.lock'') }}\"'}",
        "{uses: actions/upload-artifact@v4, with: {path: x}}",
        "{uses: codecov/codecov-action@v4, with: {token: '${{ secrets.X }}'}}",
    )
    own = "runs: {using: composite, steps: [{shell: bash, run: 'touch own'}]}"
    result = await run(tmp_path, workflow, {"a.lock": "1", ".github/actions/own/action.yml": own})
    assert result.outcome is JobOutcome.PASSED, log_of(result)


async def test_there_is_no_network(tmp_path: pathlib.Path) -> None:
    """A step that asks for a host by name fails, and the kind says so."""
    script = "getent hosts example.invalid || { echo Could not resolve host; exit 1; }"
    result = await run(tmp_path, steps(f"{{name: test, run: '{script}'}}"))
    failure = failure_of(result)
    assert failure is not None
    assert failure.kind is FailureKind.NETWORK


async def test_nothing_runs_before_obstacles_are_reported(tmp_path: pathlib.Path) -> None:
    """A job that cannot be run here, and a workflow that is not there, are the task's fault."""
    with pytest.raises(UnsupportedJobError, match="somebody/unheard-of"):
        await run(tmp_path / "a", steps("uses: somebody/unheard-of@v1"))
    with pytest.raises(TaskError, match="unknown job"):
        await run(tmp_path / "b", "on: push\njobs: {build: {steps: []}}")
    provider = FakeProvider()
    with pytest.raises(UnsupportedJobError, match="bubblewrap, docker, podman, without an image"):
        await run(tmp_path / "c", steps(TEST), provider=provider)
    assert provider.specs == []


@pytest.mark.needs("npm", "cargo")
async def test_a_job_does_without_lock_files_and_caches_of_compilers(tmp_path: pathlib.Path) -> None:
    """Instances hold no lock files: npm, uv and cargo run as if none were asked for, and the record says so.

    sccache runs what it wraps.
    """
    files = {
        "package.json": '{"name": "x", "version": "1.0.0"}',
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\n[tool.uv]\npackage = false\n',
        "fake/cargo": '#!/bin/sh\nprintf "<%s>" "$@"\n'
        '[ "$1" != t ] || printf "\\ntest result: ok. 1 passed; 0 failed\\n"\n',
        "locked/Cargo.lock": "",
    }
    cargo = (
        'chmod +x fake/cargo; export GROUNDUP_CARGO="$PWD/fake/cargo"; cargo +stable fetch --locked -- --locked; '
    )
    workflow = steps(
        CHECKOUT,
        f"{{run: '{cargo}cargo install --locked a; cd locked; cargo t --locked'}}",
        "{run: npm ci --ignore-scripts}",
        "{run: uv sync --frozen --offline && uvx --help > help.txt}",
        "{uses: mozilla-actions/sccache-action@v0.0.4}",
        "{run: sccache --start-server && sccache test -f marker, env: {RUSTC_WRAPPER: sccache}}",
        TEST,
    )
    result = await run(tmp_path, workflow, {**files, "marker": ""})
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert "<fetch><--><--locked><install><--locked><a><t><--locked>" in log_of(result)
    assert {"npm install for npm ci", "left out --locked", "left out --frozen"} <= set(result.substitutes)


async def test_variables_that_a_leg_holds_as_a_table_reach_the_step(tmp_path: pathlib.Path) -> None:
    """`env: ${{ matrix.env }}`, of a step and of the job, is what the leg says; act alone would drop it."""
    head = (
        "    strategy: {matrix: {include: [{python: a, env: {TOXENV: py, N: 1}}, {python: b, env: {A: c}}]}}\n"
        "    env: ${{ matrix.env }}\n"
    )
    test = '{name: test, run: \'test "$TOXENV-$N" = py-1\', env: "${{ matrix.env }}", working-directory: sub}'
    workflow = steps(CHECKOUT, "{run: 'test \"$TOXENV\" = py'}", test, head=head)
    result = await run(tmp_path, workflow, {"sub/file": ""}, matrix={"python": "a"})
    assert result.outcome is JobOutcome.PASSED, log_of(result)


ARTIFACTS = """
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: 'mkdir -p dist/sub; echo one > dist/a.whl; echo two > dist/sub/b.whl; echo three > notes.txt'
      - uses: actions/upload-artifact@v4
        with: {name: all, path: dist/}
      - uses: actions/upload-artifact@v4
        with: {name: wheels, path: "dist/**/*.whl\\nnotes.txt"}
  test:
    needs: build
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: test ! -e dist
      - uses: actions/download-artifact@v4
        with: {name: all, path: here}
      - uses: actions/download-artifact@v4
        with: {path: there}
      - name: test
        run: 'cat here/a.whl here/sub/b.whl there/wheels/dist/sub/b.whl there/wheels/notes.txt | wc -l | grep 4'
"""


async def test_artifacts_pass_from_job_to_job(tmp_path: pathlib.Path) -> None:
    """What a needed job uploads is there for the job that downloads it, in the places that the action gives it."""
    result = await run(tmp_path, ARTIFACTS)
    assert result.outcome is JobOutcome.PASSED, log_of(result)


async def test_an_artifact_that_nobody_kept_fails_with_its_name(tmp_path: pathlib.Path) -> None:
    """A job that downloads what no job uploaded fails, and the log says which artifact."""
    result = await run(tmp_path, steps("{uses: actions/download-artifact@v4, with: {name: gone}}", TEST))
    assert result.outcome is JobOutcome.FAILED
    assert "no job of this run kept an artifact gone" in log_of(result)


BACKEND = """
import io, tarfile, zipfile

def build_sdist(folder, config_settings=None):
    with tarfile.open(folder + "/x-1.0.tar.gz", "w:gz") as made:
        for name in ("pyproject.toml", "backend.py"):
            made.add(name, "x-1.0/" + name)
        text = b"Name: x\\nVersion: 1.0\\nClassifier: Programming Language :: Python :: 3.12\\n"
        facts = tarfile.TarInfo("x-1.0/PKG-INFO")
        facts.size = len(text)
        made.addfile(facts, io.BytesIO(text))
    return "x-1.0.tar.gz"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(folder + "/x-1.0-py3-none-any.whl", "w") as made:
        made.writestr("x-1.0.dist-info/METADATA", "Name: x\\nVersion: 1.0\\n")
    return "x-1.0-py3-none-any.whl"
"""
INSPECTED = """
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    outputs: {pythons: "${{ steps.baipp.outputs.supported_python_classifiers_json_array }}"}
    steps:
      - uses: actions/checkout@v4
      - {uses: hynek/build-and-inspect-python-package@v2, id: baipp}
  test:
    needs: build
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: "${{ fromJson(needs.build.outputs.pythons) }}"}
    steps:
      - {uses: actions/download-artifact@v4, with: {name: Packages, path: dist}}
      - {name: test, run: 'ls dist; test -f dist/x-1.0.tar.gz -a -f dist/x-1.0-py3-none-any.whl'}
      - {run: 'test "${{ needs.build.outputs.pythons }}" = "[3.12]"'}
"""


async def test_a_package_is_built_for_the_job_that_tests_it(tmp_path: pathlib.Path) -> None:
    """`build-and-inspect-python-package` builds with uv, keeps the packages, and says what they support."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"pyproject.toml": project + '[project]\nname = "x"\nversion = "1.0"\n', "backend.py": BACKEND}
    result = await run(tmp_path, INSPECTED, files, matrix={"python": "3.12"})
    assert result.outcome is JobOutcome.PASSED, log_of(result)


async def test_a_job_behind_a_filter_and_in_a_made_matrix_is_run(tmp_path: pathlib.Path) -> None:
    """Everything changed here; a leg of a matrix that a needed job writes runs with its own values."""
    workflow = """
on: push
run-name: anything
jobs:
  plan:
    runs-on: ubuntu-latest
    outputs: {src: "${{ steps.look.outputs.src }}", grid: "${{ steps.set.outputs.grid }}"}
    steps:
      - {id: look, uses: dorny/paths-filter@v3, with: {filters: "src: ['**']\\ndocs: ['docs/**']\\n"}}
      - {id: set, run: "echo 'grid={\\"n\\": [1, 2]}' >> $GITHUB_OUTPUT"}
      - {uses: somebody/tells@v1, if: "vars.TELL != ''"}
  test:
    needs: plan
    if: needs.plan.outputs.src == 'true'
    environment: ci
    runs-on: ubuntu-latest
    strategy: {matrix: "${{ fromJSON(needs.plan.outputs.grid) }}"}
    steps:
      - &tested {name: test, run: "test ${{ matrix.n }} = 2"}
      - *tested
"""
    result = await run(tmp_path, workflow, matrix={"n": "2"})
    assert (result.outcome, result.reason) == (JobOutcome.PASSED, ""), log_of(result)
    assert result.leg == {"n": 2}


async def test_a_toolchain_that_breaks_is_no_fault_of_the_job(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is here and panics is the machine's failure, and quoted with what it said; an absent one is
    what the machine has not."""
    broken = (
        "#!/bin/sh\necho \"thread 'main' panicked: no driver\" >&2\necho '   0: core::panicking' >&2\nexit 101\n"
    )
    for name in ("rustc", "cargo"):
        (tmp_path / name).write_text(broken)
        (tmp_path / name).chmod(0o755)
    job = steps(CHECKOUT, "{name: test, run: cargo test}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InfrastructureError, match="panicked: no driver"):
        await run(tmp_path / "broken", job)
    for name in ("rustc", "cargo"):
        (tmp_path / name).unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedJobError, match="rustc is not on this machine"):
        await run(tmp_path / "absent", job)


async def test_uv_takes_the_interpreters_that_are_here(tmp_path: pathlib.Path) -> None:
    """A job that wants uv's own, by option, variable or file, gets this machine's, and the record says so."""
    files = {
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\n[tool.uv]\npackage = false\n'
        'python-preference = "only-managed"\n',
    }
    workflow = steps(
        CHECKOUT,
        f"{{uses: actions/setup-python@v6, with: {{python-version: '{PYTHON}'}}}}",
        f"{{run: uv python install {PYTHON}}}",
        f"{{run: uv venv --managed-python --python {PYTHON} other, env: {{UV_MANAGED_PYTHON: '1'}}}}",
        "{name: test, run: uv run --python-preference only-managed -- python -c 'import sys'}",
    )
    result = await run(tmp_path, workflow, files)
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert set(result.substitutes) == {"left out --managed-python", "left out --python-preference only-managed"}


async def test_system_packages_stay_as_they_are(tmp_path: pathlib.Path) -> None:
    """A job that removes one, to install it anew, goes on; the log says what was left alone."""
    script = "sudo dpkg --remove --force-depends tzdata && sudo apt update && sudo apt-get install -y tzdata"
    result = await run(tmp_path, steps(f"{{run: {script}}}", "{name: test, run: 'true'}"))
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert "groundup: left alone: dpkg --remove --force-depends tzdata" in log_of(result)


@pytest.mark.needs("git")
async def test_a_repository_lies_where_the_job_checks_it_out(tmp_path: pathlib.Path) -> None:
    """Below the workspace, with its history, its own actions and its files' digests."""
    files = {
        ".github/actions/look/action.yml": "runs: {using: composite, steps: "
        "[{run: test -f code/marker, shell: bash}]}",
        "marker": "",
    }
    workflow = steps(
        "{uses: actions/checkout@v4, with: {path: code}}",
        "{uses: ./code/.github/actions/look}",
        "{run: 'test -n \"${{ hashFiles(''code/mark*'') }}\" && git -C code rev-parse HEAD && test ! -e marker'}",
        "{name: test, working-directory: code, run: test -f marker}",
    )
    result = await run(tmp_path, workflow, files)
    assert result.outcome is JobOutcome.PASSED, log_of(result)


UNIT = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"


@pytest.mark.needs("git")
async def test_a_job_is_as_github_would_run_it(tmp_path: pathlib.Path) -> None:
    """Its own repository's name and commit, nothing of act's; steps after the tests are left out, by name."""
    workflow = steps(
        CHECKOUT,
        "{if: \"${{ !env.ACT && github.actor != 'nektos/act' }}\", run: touch seen}",
        "{if: \"github.repository == 'acme/padkit' && github.repository_owner == 'acme'\", run: touch own}",
        "{name: types, run: exit 3, continue-on-error: true}",
        "{run: 'echo act=$ACT of=$GITHUB_REPOSITORY sha=$GITHUB_SHA head=$(git rev-parse HEAD) && ls'}",
        "{name: unit tests, run: python3 -m unittest}",
        "{name: publish, run: exit 1}",
        "{uses: somebody/publishing@v1}",
    )
    tree = bench.repository(tmp_path / "repository", workflow, {"test_a.py": UNIT})
    request = JobRequest(
        tree=tree, repository="padkit", full_name="acme/padkit", workflow=bench.WORKFLOW, job="test",
        limits=JOB_LIMITS.but(wall_clock_s=120.0),
    )  # fmt: skip
    async with bench.context(tmp_path) as tools:
        result = await run_job(request, tools, ("python",))
    assert result.outcome is JobOutcome.PASSED, (result.reason, log_of(result))
    head = re.search(r"sha=(\w+) head=(\w+)", log_of(result))
    assert head is not None
    assert head[1] == head[2]
    assert {"own", "seen"} <= set(log_of(result).split()), log_of(result)
    assert "without the steps after the tests: publish, somebody/publishing@v1" in result.substitutes
