"""`store.trajectory`: steps are there as soon as they are appended, over all tries of an attempt."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.store.attempts import TrajectoryFile, read_trajectory


def test_a_step_is_there_at_once(tmp_path: Path) -> None:
    """Somebody else reads it while the attempt goes on, so it outlives a process that is killed now."""
    path = tmp_path / "attempt" / "trajectory.jsonl"
    with TrajectoryFile(path) as trajectory:
        trajectory.append("reply", turn=1, text="half a pair \ud83d, and a line\nbreak")
        (step,) = read_trajectory(path)
        assert (step["kind"], step["turn"], step["text"]) == ("reply", 1, "half a pair ?, and a line\nbreak")
        assert "at" in step


def test_the_next_try_finds_the_steps_of_the_earlier_ones(tmp_path: Path) -> None:
    """In order, and without a line that was torn by the kill; its own steps come behind them."""
    path = tmp_path / "trajectory.jsonl"
    with TrajectoryFile(path) as first:
        first.append("one")
    path.write_bytes(path.read_bytes() + b'{"kind": "to')
    with TrajectoryFile(path) as second:
        assert [step["kind"] for step in second.recorded()] == ["one"]
        second.append("two")
        assert [step["kind"] for step in second.recorded()] == ["one"]
    assert [step["kind"] for step in read_trajectory(path)] == ["one", "two"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """Nothing that was paid for is skipped silently."""
    path = tmp_path / "trajectory.jsonl"
    path.write_bytes(b'{"kind": "one"}\nnonsense\n')
    with pytest.raises(UsageError, match="line 2 is damaged"):
        list(read_trajectory(path))
