"""What the launcher believes of a container's control groups."""

import os

from groundup.sandbox.launcher.boxes import groups_of


def test_groups_with_other_limits_are_not_the_containers() -> None:
    """A rootless engine may leave containers in the groups of its user: then the launcher watches limits."""
    groups = groups_of(os.getpid(), memory_bytes=12345 * 4096, processes=12345)
    assert groups.paths == {}
