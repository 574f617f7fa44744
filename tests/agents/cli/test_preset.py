"""Presets: the shipped ones can be read, versions are pinned, placeholders are filled."""

from pathlib import Path

import pytest

from groundup.agents.cli.preset import (
    absent_programs,
    choose,
    fill,
    parse_preset,
    pinned_program,
    preset_names,
    shipped_preset,
)
from groundup.domain.errors import UsageError

OWN = """
name = "own"
description = "mine"
protocol = "none"
run = ["sh", "-c", "true"]
"""


def test_every_shipped_preset_can_be_chosen() -> None:
    """Programs are known by their files' names, and each names the version that was tried last."""
    assert {"claude-code", "codex", "opencode", "openhands", "qwen-code"} <= set(preset_names())
    for name in preset_names():
        preset, version = choose(f"{name}@1.2.3")
        assert (preset.name, version) == (name, "1.2.3")
        assert choose(name).version == preset.trials[-1].version
        assert preset.install is not None
        assert preset.install.request("1.2.3").version == "1.2.3"


@pytest.mark.parametrize("text", ["codex@", "codex@1.0 --evil", "codex@/tmp/x"])
def test_a_wrong_version_is_refused(text: str) -> None:
    """Nothing is installed by a version that cannot be one; the error shows how."""
    with pytest.raises(UsageError, match=r"codex@\d|unknown preset"):
        choose(text)


def test_an_unknown_preset_names_the_nearest() -> None:
    """A typo is reported with what was meant, and that a file of one's own would do."""
    with pytest.raises(UsageError, match=r"did you mean 'codex'.*path"):
        choose("kodex@1.0")


def test_a_users_own_preset_is_a_path(tmp_path: Path) -> None:
    """A file is a preset, with a version where it installs something and without where not."""
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    assert choose(str(path)).version is None
    with pytest.raises(UsageError, match="leave out @1"):
        choose(f"{path}@1")
    path.write_text(OWN + '[install]\nregistry = "pypi"\npackage = "own"\n')
    assert choose(f"{path}@1.0").version == "1.0"
    with pytest.raises(UsageError, match=r"name the version of own"):
        choose(str(path))


def test_names_of_programs_are_pinned(tmp_path: Path) -> None:
    """A run keeps the version that a program's name stands for today; what is no program stays what it is."""
    assert pinned_program("codex") == f"codex@{choose('codex').version}"
    assert pinned_program("codex@1.0") == "codex@1.0"
    assert pinned_program("loop") is None
    own = tmp_path / "a@b" / "own.toml"
    own.parent.mkdir()
    own.write_text(OWN)
    assert pinned_program(str(own)) == str(own)


@pytest.mark.parametrize(
    ("line", "expected"),
    [('wrong = "x"', "wrong"), ('files = {"../x" = ""}', "files"), ('trajectory = ["/etc/passwd"]', "trajectory")],
)
def test_a_wrong_preset_names_its_key(line: str, expected: str) -> None:
    """A preset is read strictly, and its files stay below the program's HOME."""
    with pytest.raises(UsageError, match=expected):
        parse_preset(f"{OWN}\n{line}\n", "own.toml")


def test_only_known_placeholders_are_filled() -> None:
    """Braces of JSON, of shells and of unknown names are left alone, and what is filled in is not filled again."""
    text = '{"a": {"b": "{model}"}, "c": "${HOME} {unknown}"}'
    assert fill(text, {"model": "{home}", "home": "/h"}) == '{"a": {"b": "{home}"}, "c": "${HOME} {unknown}"}'


def test_a_program_that_cannot_be_installed_says_why() -> None:
    """Whoever names it learns the reason; no preset has such a name."""
    assert not set(absent_programs()) & set(preset_names())
    with pytest.raises(UsageError, match="crush cannot be installed: its npm package fetches"):
        pinned_program("crush@0.96.1")


def test_the_monthly_check_takes_the_last_version_of_an_ended_program() -> None:
    """A program that is given up is no failure each month; the table says why it stays where it is."""
    ended = shipped_preset("kimi-cli").ended
    assert ended is not None
    assert ended.version == shipped_preset("kimi-cli").proved
    assert "no longer maintained" in ended.why
