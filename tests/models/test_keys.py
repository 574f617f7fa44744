"""A key is in the environment and on the wire, and nowhere else: whole runs, searched."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.models.gateway import ModelGateway
from groundup.models.opening import open_model
from groundup.models.settings import ModelProvider, ModelSettings, key_of, usual_address
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from tests.cli.conftest import Groundup, groundup
from tests.environments.conftest import provider

__all__ = ["groundup", "provider"]

KEY = "sk-0123456789-very-secret"
WRITTEN = "tests.runs.toy:create_written"
REPLY = "```path=behaviour\nhalf\n```\n"


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    """The address of an endpoint in another process that accepts one key only."""
    script = tmp_path / "endpoint" / "script.json"
    script.parent.mkdir()
    failing = {"when": "task-0001", "fail": ["rate_limit"], "retry_after_s": 0.01, "content": REPLY}
    script.write_text(json.dumps({"key": KEY, "rule": [failing], "turn": [{"content": REPLY}], "then": "repeat"}))
    with subprocess.Popen(
        [sys.executable, "-m", "groundup.models.scripted", str(script)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def files_with(text: str, folder: Path) -> list[str]:
    """Return the files below *folder* that hold *text*."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "endpoint" and text.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize(("key", "code"), [(KEY, 0), ("sk-another-secret-that-is-wrong", 3)])
def test_no_file_of_a_run_holds_the_key(
    groundup: Groundup, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, code: int
) -> None:
    """A run with kept replies, a log and a judge leaves its key in no file and in no word, accepted or not."""
    monkeypatch.setenv("GROUNDUP_MODEL_KEY", key)
    model = ("-m", "compatible/one", "--base-url", endpoint)
    ran = groundup(
        "run", WRITTEN, "-a", "oneshot", *model, "--run-id", "one", "--reuse-replies", "--verbose",
        "--log-file", tmp_path / "log.txt",
    )  # fmt: skip
    judged = groundup("judge", "one", *model, "--of", "repository")
    assert ran.code == code, ran.err
    assert (tmp_path / "runs/one/config.json").is_file()
    assert key not in ran.out + ran.err + judged.out + judged.err
    assert files_with(key, tmp_path) == []
    if code:
        assert "GROUNDUP_MODEL_KEY" in ran.out + ran.err + (tmp_path / "log.txt").read_text()


def test_a_key_goes_where_the_usual_variable_says(
    groundup: Groundup, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider's own variable names the endpoint, and a run keeps it when it is resumed in another shell."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint + "/")
    ran = groundup("run", WRITTEN, "-a", "oneshot", "-m", "openai/one", "--run-id", "one")
    assert ran.code == 0, ran.err
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    again = groundup("resume", "one", "--dry-run", "--json")
    assert again.code == 0, again.err
    assert json.loads((tmp_path / "runs/one/config.json").read_text())["configuration"]["submissions"][
        "model_settings"
    ] == {"base_url": endpoint}


@pytest.mark.parametrize(
    ("provider", "variable", "given", "means"),
    [
        ("openai", "OPENAI_BASE_URL", "http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:1", "http://127.0.0.1:1/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("openai", "OPENAI_BASE_URL", " ", None),
        ("mistral", "OPENAI_BASE_URL", "http://127.0.0.1:1/v1", None),
    ],
)
def test_variables_mean_what_their_sdks_read(
    monkeypatch: pytest.MonkeyPatch, provider: str, variable: str, given: str, means: str | None
) -> None:
    """Anthropic's variable lacks the version that OpenAI's has; another provider's variable says nothing."""
    monkeypatch.setenv(variable, given)
    assert usual_address(f"{provider}/one") == means


def test_credentials_in_a_variable_s_address_are_refused(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be kept in the run's folder."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@127.0.0.1:1/v1")
    ended = groundup("run", WRITTEN, "-a", "oneshot", "-m", "openai/one")
    assert ended.code == 2
    assert "credentials" in ended.err
    assert "secret" not in ended.err


@pytest.mark.end_to_end
async def test_no_sandbox_holds_the_key(
    provider: SandboxProvider, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program inside is answered by the model, and finds its key in no environment and no address."""
    monkeypatch.setenv("GROUNDUP_MODEL_KEY", KEY)
    (tmp_path / "workspace").mkdir()
    question = json.dumps({"model": "any", "messages": [{"role": "user", "content": "hi"}]})
    async with (
        open_model("compatible/one", ModelSettings(base_url=endpoint)) as model,
        ModelGateway(model) as gateway,
        await provider.open(SandboxSpec(workspace=tmp_path / "workspace")) as sandbox,
    ):
        address = await gateway.attach(sandbox)
        port = address.root_url.rpartition(":")[2]
        request = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: inside\r\nConnection: close\r\n"
            f"Content-Length: {len(question)}\r\n\r\n{question}"
        )
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}; cat >&3; cat <&3; env; cat /proc/[0-9]*/environ"
        command = Command(argv=("bash", "-c", script), stdin=request.encode(), environment=address.environment())
        ended = await sandbox.run(command)
    assert b'"role": "assistant"' in ended.stdout
    assert b"OPENAI_BASE_URL" in ended.stdout
    assert KEY.encode() not in ended.stdout + ended.stderr
    assert endpoint.rpartition(":")[2].encode() + b"/v1" not in ended.stdout
    assert files_with(KEY, tmp_path) == []


@pytest.mark.parametrize("key", ["clé", "a\nb", "a\x1b[0m"])
def test_a_key_with_characters_that_no_key_has_is_refused_unshown(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """It could not be sent, or would forge a header; blanks around a key are the shell's."""
    monkeypatch.setenv("ONE_KEY", key)
    with pytest.raises(UsageError, match="ONE_KEY holds no key") as raised:
        key_of(ModelProvider(key="ONE_KEY"))
    assert key not in str(raised.value)
    monkeypatch.setenv("ONE_KEY", " right \n")
    found = key_of(ModelProvider(key="ONE_KEY"))
    assert found is not None
    assert found.get_secret_value() == "right"
