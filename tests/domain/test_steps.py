"""Steps that are said and heard."""

import asyncio
from pathlib import Path

from groundup.domain.steps import at_step, heard_by
from groundup.trees.digest import tree_digest
from groundup.trees.writer import in_thread


def test_steps_are_heard_inside_only() -> None:
    """Also those of a thread; outside nobody has to listen."""
    heard: list[str] = []
    with heard_by(heard.append):
        at_step("one")
        asyncio.run(in_thread(lambda: at_step("two")))
    at_step("three")
    assert heard == ["one", "two"]


def test_a_large_tree_is_counted_while_it_is_read(tmp_path: Path) -> None:
    """Whoever waits for 200,000 files sees that they are read."""
    for number in range(2_100):
        (tmp_path / str(number)).touch()
    heard: list[str] = []
    with heard_by(heard.append):
        tree_digest(tmp_path)
    assert heard == ["2,000 files read"]
