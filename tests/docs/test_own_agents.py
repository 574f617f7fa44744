"""The four ways of bringing an agent of one's own that docs/own-agents.md shows, each run as it stands there."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from groundup.environments.builder import EnvironmentBuilder
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from tests.cli.conftest import Groundup
from tests.docs.pages import ROOT, blocks
from tests.grading.library.laboratory import HostBuilder
from tests.needs import lack, real_sandboxes

EXAMPLES = ROOT / "examples" / "agents"
SUITE = "examples.plugins.suite:create"
BUILDER = "tests.docs.test_own_agents:create_builder"
WAYS = {"script": "script.toml", "binary": "binary.toml", "image": "image.toml", "import path": "class"}
AGENT = r"""#!/bin/bash
address=${OPENAI_BASE_URL#http://} file=${1:?}
body="{\"model\": \"any\", \"messages\": [{\"role\": \"user\", \"content\": \"$(wc -c < "$file") bytes\"}]}"
exec 3<> "/dev/tcp/${address%%[:/]*}/$(echo "${address#*:}" | cut -d/ -f1)"
printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\nConnection: close\r\n' >&3
printf 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >&3
cat <&3 | tr -d '\n' | sed 's/.*"content": *"\([0-9]*\)".*/\1/' > answer
"""
"""What stands for a program file: it asks its model without any library."""


def create_builder(settings: Settings, provider: SandboxProvider) -> EnvironmentBuilder:
    """Return a builder that needs no package index."""
    return HostBuilder(settings.cache_dir / "layers")


@pytest.fixture
async def bubblewrap(tmp_path: Path) -> None:
    """Skip where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "probe"), tmp_path / "try") as provider:
        if provider.name != "bubblewrap":
            pytest.skip("programs are tried in bubblewrap's sandboxes")


def program(path: Path, text: str) -> None:
    """Write an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def unpack_image(root: Path) -> None:
    """Lay out what an unpacked image holds: a shell as `/usr/bin/agent` with its libraries and its loader.

    The shell runs the file that it is given, so the preset's prompt file is replaced by a script's path there.
    """
    try:
        listed = subprocess.run(["ldd", "/bin/bash"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        lack("ldd", error)
    for word in listed.split():
        if word.startswith("/"):
            place = root / word.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, place)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/bash", root / "usr/bin/agent")


def test_the_page_shows_the_files_that_are_tried() -> None:
    """Each preset, script and class stands on the page as it lies in examples/agents."""
    page = blocks(ROOT / "docs" / "own-agents.md")
    shown = {block.title: block.text.strip() for block in page if block.title}
    for file in EXAMPLES.iterdir():
        if file.is_file():
            assert shown[file.name] == file.read_text(encoding="utf-8").strip(), file.name


@pytest.mark.end_to_end
@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("way", WAYS)
def test_each_way_asks_the_model_and_is_graded(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """With the same limits, the same endpoint and a trajectory that has the question and the reply."""
    monkeypatch.setenv("GROUNDUP_SANDBOX", "bubblewrap")
    monkeypatch.setenv("GROUNDUP_BUILDER", BUILDER)
    mine = tmp_path / "mine"
    shutil.copytree(EXAMPLES, mine)
    program(mine / "agent", AGENT)
    unpack_image(mine / "image")
    preset = mine / "image.toml"
    program(mine / "agent.sh", AGENT)
    preset.write_text(
        preset.read_text()
        .replace('"image" = "image"', '"image" = "image"\n"agent.sh" = "agent.sh"')
        .replace('"/usr/bin/agent", ', '"/usr/bin/agent", "{own}/agent.sh", ')
    )
    script = tmp_path / "model.json"
    script.write_text(json.dumps({"turn": [{"content": "42", "output_tokens": 7}]}))
    named = "examples.agents.asking:create" if way == "import path" else str(mine / WAYS[way])
    line = ("run", SUITE, "-a", named, "-m", f"scripted/{script}", "--price", "1:10", "--run-id", "mine")
    ended = groundup(*line, "--fail-under", "1")
    assert ended.code == 0, ended.out + ended.err
    (path,) = (tmp_path / "runs" / "mine").rglob("trajectory.jsonl")
    steps = [json.loads(step) for step in path.read_text().splitlines()]
    (reply,) = (step for step in steps if step["kind"] == "reply")
    assert "42" in json.dumps(reply)
    assert any(step["kind"] == "message" for step in steps)
    report = json.loads(groundup("report", "mine", "--json").out)
    assert "42" in json.dumps(steps)
    assert report


@pytest.mark.parametrize(
    ("bring", "told"), [('"a" = "absent"', "there is no "), ('"../a" = "agent"', "bring")], ids=["absent", "name"]
)
def test_what_cannot_be_brought_is_named(groundup: Groundup, tmp_path: Path, bring: str, told: str) -> None:
    """Before anything begins."""
    preset = tmp_path / "own.toml"
    preset.write_text(f'name = "x"\ndescription = "x"\nprotocol = "none"\nrun = ["x"]\n[bring]\n{bring}\n')
    ended = groundup("run", SUITE, "-a", preset)
    assert ended.code == 2
    assert told in ended.err


def test_another_file_is_another_agent(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is resumed with a changed program would mix two of them."""
    from groundup.agents.cli.agent import create

    preset = tmp_path / "own.toml"
    preset.write_text('name = "x"\ndescription = "x"\nprotocol = "none"\nrun = ["x"]\n[bring]\n"x" = "x"\n')
    (tmp_path / "x").write_text("1")
    first = create({"preset": str(preset)}).identity()
    (tmp_path / "x").write_text("2")
    assert create({"preset": str(preset)}).identity() != first
