"""Workflows as people write them: which job runs the tests, and how it ends on GitHub."""

from collections.abc import Mapping
from typing import NamedTuple

RUN = "python3 -m unittest discover -s tests"
CI = ".github/workflows/ci.yml"
UNIT = (
    "import unittest\n\n\nclass Flies(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)\n"
)
TESTS = {"tests/__init__.py": "", "tests/test_fly.py": UNIT}
BROKEN = {"tests/__init__.py": "", "tests/test_fly.py": UNIT.replace("assertTrue(True)", "assertTrue(False)")}


class Case(NamedTuple):
    """One repository with its workflow."""

    name: str
    workflow: str
    job: str = "test"
    """The job that the instance gets; "" where none can be run."""
    leg: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    refused: str = ""
    """What the refusal names; empty: the job can be run."""
    ends: str = "passed"
    """How it ends on GitHub: `passed`, `failed`."""
    says: str = ""
    """What reason, substitutes or log say, as a pattern."""

    @property
    def whole(self) -> dict[str, str]:
        """All files of the repository."""
        return {CI: self.workflow, **TESTS, **self.files}


def job(*steps: str, head: str = "", on: str = "push", name: str = "test", before: str = "") -> str:
    """Return a workflow with jobs *before* and a job *name* of these steps, each a YAML text."""
    return f"on: {on}\njobs:\n{before}{one(*steps, head=head, name=name)}"


def one(*steps: str, head: str = "", name: str = "test", runner: str = "ubuntu-latest") -> str:
    """Return one job."""
    listed = "".join(f"      - {step}\n" for step in ("uses: actions/checkout@v4", *steps))
    return f"  {name}:\n    runs-on: {runner}\n{head}    steps:\n{listed}"


TEST = f"{{name: Unit tests, run: {RUN}}}"
OTHER = one(f"{{run: {RUN}}}", name="check")
DISABLED = "    if: {}\n"


def _disabled(name: str, condition: str) -> Case:
    return Case(f"job_if_{name}", job(TEST, head=DISABLED.format(condition)) + OTHER, job="check")


def _called(name: str, command: str, **files: str) -> Case:
    named = {key.replace("__", "/"): text for key, text in files.items()}
    return Case(f"called_{name}", job(f"run: {command}"), files=named)


def _refused(name: str, workflow: str, why: str, **files: str) -> Case:
    named = {key.replace("__", "/").replace("_dot_", "."): text for key, text in files.items()}
    return Case(f"refused_{name}", workflow, job="", refused=why, files=named)


_NEEDED = "  lint:\n    runs-on: ubuntu-latest\n{}    steps: [{{run: exit 4}}]\n"
_SOFT = """\
runs:
  using: composite
  steps: [{run: exit 3, shell: bash}]
"""
_YARN = """\
const words = process.argv.slice(2)
if (words.includes('--immutable')) { console.log('YN0028: The lockfile would have been created'); process.exit(1) }
if (words[0] === 'test') require('child_process').execSync('node --test', {stdio: 'inherit'})
"""
_NODE_TEST = "const test = require('node:test')\ntest('it flies', () => {})\n"
_OUTER = """\
on: {workflow_call: {inputs: {folder: {type: string, default: nowhere}}}}
jobs:
  middle: {uses: ./.github/workflows/inner.yml, with: {where: "${{ inputs.folder }}"}}
"""
_INNER = """\
on: {workflow_call: {inputs: {where: {type: string, required: true}}}}
jobs:
  unit:
    runs-on: ubuntu-latest
    steps: [{uses: actions/checkout@v4}, {run: "python3 -m unittest discover -s ${{ inputs.where }}"}]
"""
_DYNAMIC = """\
on: push
jobs:
  plan:
    runs-on: ubuntu-latest
    outputs: {versions: "${{ steps.set.outputs.versions }}"}
    steps:
      - id: set
        env: {ASKED: "${{ inputs.asked }}"}
        run: |
          [ -z "$ASKED" ] || echo versions=$ASKED >> $GITHUB_OUTPUT
  test:
    needs: plan
    runs-on: ubuntu-latest
    strategy: {matrix: {word: "${{ fromJson(needs.plan.outputs.versions || '[\\"tests\\"]') }}"}}
    steps: [{uses: actions/checkout@v4}, {run: "python3 -m unittest discover -s ${{ matrix.word }}"}]
"""
_MOCHA = """\
on: [push, pull_request]
jobs:
  test-browser:
    uses: ./.github/workflows/script.yml
    with: {script: "npx playwright test"}
  test-node:
    uses: ./.github/workflows/script.yml
    with: {script: "python3 -m unittest discover -s tests"}
"""
_SCRIPT = """\
on: {workflow_call: {inputs: {script: {required: true, type: string}, node-versions: {type: string}}}}
jobs:
  resolve:
    runs-on: ubuntu-latest
    outputs: {versions: "${{ steps.split.outputs.splitted }}"}
    steps:
      - id: split
        if: inputs.node-versions
        run: echo "splitted=$(jq -R -c 'split(",")' <<< '${{ inputs.node-versions }}')" >> $GITHUB_OUTPUT
  run:
    needs: [resolve]
    runs-on: ubuntu-latest
    strategy: {matrix: {node: "${{ fromJson(needs.resolve.outputs.versions || '[\\"22\\"]') }}"}}
    steps: [{uses: actions/checkout@v4}, {run: "${{ inputs.script }}"}]
"""
_BLOCK = """\
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        task:
          - {name: Lint, run: "echo linted"}
          - name: Test
            run: |
              python3 -m unittest discover -s tests
    steps: [{uses: actions/checkout@v4}, {run: "${{ matrix.task.run }}"}]
"""
_HERE = """{run: "cat > go.sh <<'END'\\npython3 -m unittest discover -s tests\\nEND\\nbash go.sh"}"""
_GUARD = (
    "github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name != github.repository"
)
_BOTH = "[push, pull_request]"

CASES = (
    Case("soft_types", job("{name: types, run: exit 3, continue-on-error: true}", TEST)),
    Case(
        "soft_by_expression",
        job(
            "{name: types, run: exit 3, continue-on-error: '${{ matrix.soft }}'}",
            TEST,
            head="    strategy: {matrix: {soft: [true]}}\n",
        ),
        leg={"soft": "true"},
    ),
    Case("soft_report", job(TEST, "{name: report, if: always(), run: exit 5, continue-on-error: true}")),
    Case(
        "soft_composite",
        job("{uses: ./.github/actions/soft, continue-on-error: true}", TEST),
        files={".github/actions/soft/action.yml": _SOFT},
    ),
    Case(
        "soft_needed",
        job(TEST, head="    needs: lint\n", before=_NEEDED.format("    continue-on-error: true\n")),
    ),
    Case(
        "needed_fails_and_is_ignored",
        job(TEST, head="    needs: lint\n    if: ${{ !cancelled() }}\n", before=_NEEDED.format("")),
    ),
    Case(
        "needed_fails",
        job(TEST, head="    needs: lint\n", before=_NEEDED.format("")),
        ends="failed",
        says="job lint, which it needs, failed with exit code 4",
    ),
    Case("red_before_tests", job("{name: Build, run: exit 6}", TEST), ends="failed", says="step 'Build'"),
    Case("red_tests", job(TEST), files=BROKEN, ends="failed", says="step 'Unit tests'"),
    Case("red_then_tests_anyway", job("run: exit 6", f"{{if: always(), run: {RUN}}}"), ends="failed"),
    Case(
        "needed_with_output",
        job(
            '{run: "python3 -m unittest discover -s ${{ needs.lint.outputs.where }}"}',
            head="    needs: lint\n",
            before="  lint:\n    runs-on: ubuntu-latest\n    outputs: {where: '${{ steps.a.outputs.w }}'}\n"
            "    steps: [{id: a, run: echo w=tests >> $GITHUB_OUTPUT}]\n",
        ),
    ),
    _disabled("false", "false"),
    _disabled("expression_false", "${{ false }}"),
    _disabled("always_and_false", "${{ always() && false }}"),
    _disabled("failure", "failure()"),
    _disabled("other_branch", "github.ref == 'refs/heads/release'"),
    _disabled("variable", "vars.RUN_TESTS == 'true'"),
    _disabled("schedule", "github.event_name == 'schedule'"),
    Case("owner_guard", job(TEST, head="    if: github.repository == 'acme/padkit'\n")),
    Case("owner_guard_of_step", job(f"{{if: github.repository_owner == 'acme', run: {RUN}}}")),
    Case("not_under_act", job(f"{{if: '${{{{ !env.ACT }}}}', run: {RUN}}}")),
    Case("actor", job(f"{{if: github.actor != 'nektos/act', run: {RUN}}}")),
    Case("once_for_both_events", job(TEST, head=f"    if: {_GUARD}\n", on=_BOTH)),
    Case("only_pull_requests", job(TEST, head="    if: github.event_name == 'pull_request'\n", on=_BOTH)),
    Case(
        "publishes_before_tests",
        job("{if: github.ref == 'refs/heads/main', run: curl -f https://example.invalid/publish}", TEST, on=_BOTH),
    ),
    _called("make_in_make", "make all", Makefile=f"all:\n\t$(MAKE) unit\nunit:\n\t{RUN}\n"),
    _called("nice", f"nice -n 5 {RUN}"),
    _called("stdbuf", f"stdbuf -oL {RUN}"),
    _called("xargs", "ls -d tests | xargs -n 1 python3 -m unittest discover -s"),
    _called("which", "$(which python3) -m unittest discover -s tests"),
    _called("default", '"${PYTHON:-python3} -m unittest discover -s tests"'),
    _called("shell_word", "bash -c 'python3 -m unittest discover -s tests'"),
    Case("here_document", job(_HERE)),
    Case(
        "two_deep",
        "on: push\njobs:\n  all:\n    uses: ./.github/workflows/outer.yml\n    with: {folder: tests}\n",
        job="unit",
        files={".github/workflows/outer.yml": _OUTER, ".github/workflows/inner.yml": _INNER},
    ),
    _refused("docker_run", job("run: docker run app pytest"), "docker"),
    _refused("compose", job("run: docker compose run app pytest"), "docker"),
    _refused("docker_action", job("{uses: 'docker://python:3.12', with: {args: pytest}}"), "docker"),
    _refused("windows", one(TEST, runner="windows-latest").join(("on: push\njobs:\n", "")), "runner: windows"),
    _refused("services", job(TEST, head="    services: {db: {image: postgres}}\n"), "services: db"),
    _refused(
        "output_read",
        job(
            "{id: version, uses: gittools/actions/gitversion/execute@v3}",
            f"{{run: 'test -n \"${{{{ steps.version.outputs.semVer }}}}\" && {RUN}'}}",
        ),
        "gittools/actions/gitversion/execute",
    ),
    Case(
        "browser_beside_real",
        _MOCHA,
        job="run",
        leg={"node": "22"},
        files={".github/workflows/script.yml": _SCRIPT},
    ),
    Case("default_of_output", _DYNAMIC, leg={"word": "tests"}),
    Case("block_in_matrix", _BLOCK, leg={"task.name": "Test", "task.run": RUN + "\n"}),
    Case("sha_in_environment", job('{run: "test $(git rev-parse HEAD) = $GITHUB_SHA"}', TEST)),
    Case("sha_in_expression", job('{run: "test $(git rev-parse HEAD) = ${{ github.sha }}"}', TEST)),
    Case("runner_environment", job(f"{{if: runner.environment == 'github-hosted', run: {RUN}}}")),
    Case(
        "job_total",
        job(
            "run: test ${{ strategy.job-total }} = 3 && test ${{ strategy.job-index }} -lt 3",
            TEST,
            head="    strategy: {matrix: {n: [1, 2, 3]}}\n",
        ),
        leg={"n": "1"},
    ),
    Case(
        "later_actions",
        job(TEST, "{name: Publish, uses: acme/publishes@v1}"),
        says="steps after the tests: Publish",
    ),
    Case(
        "stamp_before_tests",
        job(
            "{name: Stamp, id: stamp, uses: acme/stamps@v1}", TEST, "run: echo ${{ steps.stamp.outputs.version }}"
        ),
        says="acme/stamps",
    ),
    Case(
        "system_package",
        job("run: sudo apt-get update && sudo apt-get install -y xmlstarlet", "run: xmlstarlet --version", TEST),
        ends="failed",
        says="program that the machine has not",
    ),
    Case("unknown_permission", job(TEST, head="    permissions: {contents: read, artifact-metadata: read}\n")),
    Case(
        "yarn_4",
        job("run: yarn install --immutable", "run: yarn test"),
        files={
            "package.json": '{"name": "x", "packageManager": "yarn@4.0.0", "scripts": {"test": "node --test"}}',
            ".yarnrc.yml": "yarnPath: .yarn/releases/yarn-4.0.0.cjs\n",
            ".yarn/releases/yarn-4.0.0.cjs": _YARN,
            "fly.test.js": _NODE_TEST,
        },
    ),
    Case("no_pipefail", job("run: false | cat", TEST)),
    Case("new_key_of_a_job", job(TEST, head="    snapshot: padkit-image\n")),
)
