"""How long tests wait for what should come at once: on a starved machine it does not, and that is no failure."""

from groundup.inside.stopwatch import PATIENCE


def patient(seconds: float) -> float:
    """Return a limit for what takes less than *seconds* on a quiet machine.

    It ends only what has gone wrong: a test that passes never waits so long, and one that hangs is ended before by
    the limit of every test, which counts the time that the machine had for it.
    """
    return seconds * PATIENCE
