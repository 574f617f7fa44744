"""Tests of groundup.sandbox.host_state."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from groundup.sandbox.host_state import HostState, clean_stale_state


def test_a_folder_that_is_being_made_is_not_taken_for_a_killed_program_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs start and clean up beside each other: whenever a cleaner looks, it removes only what is stale."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    looks: list[int] = []

    def clean_at_every_line(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is not HostState.__init__.__code__:
            return None
        if event == "line":
            looks.append(clean_stale_state())
        return clean_at_every_line

    before = sys.gettrace()
    sys.settrace(clean_at_every_line)
    try:
        state = HostState()
    finally:
        sys.settrace(before)
    assert len(looks) > 5
    assert not any(looks)
    state.release()
    assert clean_stale_state() == 1
