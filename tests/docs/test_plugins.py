"""What CONTRIBUTING.md calls a plug-in is short, and works by its dotted path."""

from tests.cli.conftest import Groundup
from tests.docs.pages import ROOT

PLUGINS = ROOT / "examples" / "plugins"
SUITE, AGENT = "examples.plugins.suite:create", "examples.plugins.agent:create"


def test_a_suite_in_one_file_is_measured(groundup: Groundup) -> None:
    """The oracle passes, nothing gets 0."""
    assert groundup("run", SUITE, "-a", "oracle", "--fail-under", "1").code == 0
    assert groundup("run", SUITE, "-a", "nop", "--fail-under", "1").code == 4


def test_an_agent_in_one_file_does_its_task(groundup: Groundup) -> None:
    """What its option says is handed in and graded."""
    for text, code in (("42", 0), ("41", 4)):
        option = ("--agent-option", f"text={text}")
        assert groundup("run", SUITE, "-a", AGENT, *option, "--fail-under", "1").code == code


def test_plug_ins_are_short_and_named() -> None:
    """CONTRIBUTING.md leads to each of them."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in PLUGINS.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 50
        assert f"examples/plugins/{path.name}" in contributing
