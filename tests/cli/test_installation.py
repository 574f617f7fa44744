"""`groundup clean`, `docs` and `init`: what is removed, shown and written is what is said."""

import io
import json
import tomllib
from pathlib import Path

import pytest

from groundup.cli import installation
from groundup.cli.installation import commented_settings, find_command
from groundup.runs import leftovers as module
from groundup.runs.leftovers import Leftover
from groundup.settings import Settings
from tests.cli.conftest import Groundup

FOUND = (
    Leftover(kind="scratch", path=Path("/cache/scratch/one"), bytes=2000),
    Leftover(kind="run", path=Path("/runs/old"), bytes=1_000_000),
)


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Find two things, of which one is somebody else's; return what was asked for and what was to be removed."""
    asked: list[object] = []

    def find(settings: Settings, older_than_s: float | None = None) -> tuple[Leftover, ...]:
        asked.append((settings.output.name, older_than_s))
        return FOUND if older_than_s != 60 else ()

    def remove(found: tuple[Leftover, ...], settings: Settings) -> list[Path]:
        asked.append(found)
        return [FOUND[1].path]

    monkeypatch.setattr(module, "leftovers", find)
    monkeypatch.setattr(module, "remove", remove)
    return asked


def test_what_is_left_is_removed_when_somebody_says_so(groundup: Groundup, removed: list[object]) -> None:
    """As a table and a sentence; what is not groundup's stays and is named."""
    ended = groundup("clean", "--yes", "--older-than", "30d", "--output", "mine")
    assert removed == [("mine", 30 * 86400), FOUND]
    assert (ended.code, ended.err) == (
        0,
        "groundup: left /runs/old, which is not groundup's\ngroundup: removed 2 things, 1.0 MB\n",
    )
    rows = [line.split() for line in ended.out.splitlines() if "/" in line]
    assert rows == [["scratch", "2.0", "KB", "/cache/scratch/one"], ["run", "1.0", "MB", "/runs/old"]]


def test_nothing_is_removed_unasked(
    groundup: Groundup, removed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look removes nothing; a script has to say so, and a person is asked, who may say no."""
    ended = groundup("clean", "--dry-run")
    assert (ended.code, ended.err) == (0, "groundup: left 2 things, 1.0 MB\n")
    ended = groundup("clean")
    assert (ended.code, ended.err) == (
        2,
        "groundup: would remove 2 things (1.0 MB); say --yes, or look with --dry-run\n",
    )
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    ended = groundup("clean")
    assert (ended.code, ended.err.splitlines()[-1].endswith("groundup: left 2 things, 1.0 MB")) == (0, True)
    assert "Remove these 2 (1.0 MB)? [y/N]" in ended.out + ended.err
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert groundup("clean", "--json").code == 2
    assert removed == [("runs", None)] * 4
    assert groundup("clean").code == 0
    assert removed[-1] == FOUND


def test_what_is_left_is_a_document(groundup: Groundup, removed: list[object]) -> None:
    """For programs, with or without removing."""
    found = [one.model_dump(mode="json") for one in FOUND]
    for flag, is_removed in (("--dry-run", False), ("--yes", True)):
        document = json.loads(groundup("clean", "--json", flag).out)
        assert document == {"removed": is_removed, "bytes": 1_002_000, "found": found}
    ended = groundup("clean", "--older-than", "1m", "--yes")
    assert (ended.code, ended.err) == (0, "groundup: nothing to remove\n")
    ended = groundup("clean", "--older-than", "1m", "--json")
    assert json.loads(ended.out) == {"removed": False, "bytes": 0, "found": []}


def test_settings_are_written_down_with_their_defaults(groundup: Groundup, tmp_path: Path) -> None:
    """Nothing is set until a comment sign goes; a file that is there stays."""
    (tmp_path / "folder").mkdir()
    ended = groundup("init", "folder")
    assert (ended.code, ended.err) == (
        0,
        "groundup: folder/groundup.toml holds every setting with its default; `groundup doctor` says what this "
        "machine can do\n",
    )
    text = (tmp_path / "folder" / "groundup.toml").read_text()
    assert text == commented_settings()
    assert tomllib.loads(text) == {"settings": {}}
    for taken, said in (
        ("folder", "folder/groundup.toml is there already; edit it, or name another folder"),
        ("absent", "absent is no folder; make it first"),
    ):
        ended = groundup("init", taken)
        assert (ended.code, ended.err) == (2, f"groundup: {said}\n")
    assert groundup("init").code == 0
    assert (tmp_path / "groundup.toml").read_text() == text


def test_each_comment_is_a_setting() -> None:
    """With what it means above it, and a default that reads back; runs are shown as an example."""
    head, _, rest = commented_settings().partition("[settings]\n")
    assert head.splitlines()[0].startswith("# Settings of groundup, for commands that are called in this folder.")
    written, _, runs = rest.partition("# Several runs at once")
    blocks = [block.splitlines() for block in written.strip().split("\n\n")]
    fields = Settings.model_fields
    assert [block[-1].removeprefix("# ").partition(" =")[0] for block in blocks] == [*fields]
    for block, (name, field) in zip(blocks, fields.items(), strict=True):
        assert block[0] == f"# {field.description}"
        default = field.get_default(call_default_factory=True)
        value = block[-1].removeprefix(f"# {name} =")
        assert (value == "") is (default is None)
        if value:
            read = tomllib.loads(f"it ={value}")["it"]
            assert read == default or read == str(default)
    example = tomllib.loads("".join(line.removeprefix("# ") + "\n" for line in runs.splitlines()[2:]))
    assert example["run"][0]["model"] == ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"]


def test_pages_are_found_by_any_of_their_names(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a checkout also those beside the folder; without a name they are listed."""
    pages = {
        "README.md": "# Groundup\n",
        "CHANGELOG.md": "# Changes\n",
        "docs/index.md": "# Start\n",
        "docs/Runs.md": "# Runs\nare kept\n",
        "docs/developers/style.md": "## Style\n",
    }
    for name, text in pages.items():
        (tmp_path / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkout" / name).write_text(text)
    monkeypatch.setattr(installation, "_folder", lambda: tmp_path / "checkout" / "docs")
    for name in ("runs", "docs/runs.md", "RUNS", "docs/runs.md#later"):
        assert groundup("docs", name) == (0, pages["docs/Runs.md"], "")
    for name in ("style", "developers/style", "docs/developers/style.md"):
        assert groundup("docs", name).out == "## Style\n"
    assert groundup("docs", "changelog").out == "# Changes\n"
    ended = groundup("docs", "rnus")
    assert (ended.code, ended.err.startswith("groundup: unknown page 'rnus'; did you mean 'runs'?")) == (2, True)
    ended = groundup("docs")
    assert ended.err == f"groundup: the pages lie in {tmp_path / 'checkout' / 'docs'}\n"
    rows = [line.split() for line in ended.out.splitlines() if "─" not in line and line.strip()]
    assert rows == [
        ["page", "about"],
        ["readme", "Groundup"],
        ["changelog", "Changes"],
        ["runs", "Runs"],
        ["developers/style", "Style"],
        ["index", "Start"],
    ]


def test_pages_have_what_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command and every setting, each under its comment."""
    monkeypatch.setattr(installation, "commands", lambda: "all of them")
    page = "a\n<!-- every command -->\nb\n<!-- every setting -->\nc\n"
    filled = installation.filled_in(page)
    assert filled == f"a\nall of them\nb\n{installation.settings()}\nc\n"
    assert installation.filled_in("nothing\n") == "nothing\n"
    rows = installation.settings().splitlines()
    assert rows[:2] == ["| setting | variable | default | meaning |", "|---|---|---|---|"]
    assert [row.split("`")[1] for row in rows[2:]] == [*Settings.model_fields]
    assert all(row.startswith("| `") and row.endswith(" |") and row.count(" | ") == 3 for row in rows[2:])
    (jobs,) = [row for row in rows if row.startswith("| `jobs`")]
    assert jobs.startswith("| `jobs` | `GROUNDUP_JOBS` | the number of processors | ")


def test_a_command_s_section_has_all_that_help_says() -> None:
    """Docstring, usage, a row for each argument and option, and examples."""
    section = "\n".join(installation._command("init"))
    assert section.startswith(
        "### groundup init\n\nWrite a commented groundup.toml into FOLDER; nothing changes until you take a "
        "comment sign away.\n\n```text\ngroundup init [OPTIONS] [FOLDER]\n```\n\n| | |\n|---|---|\n| `"
    )
    assert "` | Folder for groundup.toml; commands that you call in it read it. |\n" in section
    assert (
        "\n```sh\n# Write down your settings\ngroundup init\n# Beside other projects\ngroundup init ~/eval"
        in section
    )
    section = "\n".join(installation._command("clean"))
    assert "| `--yes`, `-y` | Do not ask. |\n" in section
    assert "| `--older-than TEXT` | Also runs, layers and verdicts" in section
    assert "--help" not in section
    assert find_command("data pull").name == "pull"
