"""What a sandbox for one command may use, and how often what is repeated."""

from groundup.domain.limits import Limits, Repeats


def test_a_sandbox_outlives_its_command() -> None:
    """By half a minute, or as is said; all else stays."""
    limits = Limits(memory_mb=64)
    assert limits.for_command(10) == Limits(memory_mb=64, command_s=10, wall_clock_s=40)
    found = limits.for_command(10, spare_s=5, output_bytes=2048)
    assert found == Limits(memory_mb=64, command_s=10, wall_clock_s=15, output_bytes=2048)
    assert limits.for_command(10, output_bytes=None).output_bytes == 8 * 1024 * 1024


def test_the_defaults_are_those_of_the_pages() -> None:
    """One processor, 2 GiB; three tries, of which each is graded twice at most."""
    limits = Limits()
    assert (limits.cpus, limits.memory_mb, limits.processes, limits.disk_mb) == (1.0, 2048, 256, 4096)
    assert (limits.wall_clock_s, limits.command_s) == (3600.0, 900.0)
    repeats = Repeats()
    assert (repeats.tries, repeats.gradings, repeats.rounds) == (3, 2, 12)
    assert (repeats.checks, repeats.check_rounds) == (3, 4)
