"""The programs that stand for a published container's entry point, each as one file that needs nothing else."""

from importlib import resources

_STOPWATCH = "from groundup.sandbox.stopwatch import Stopwatch, inside\n"


def driver(name: str) -> bytes:
    """Return the program of this file name, with the stopwatch that it imports written out in it."""
    text = (resources.files("groundup.suites.repogenesis") / name).read_text()
    stopwatch = (resources.files("groundup.sandbox") / "stopwatch.py").read_text()
    return text.replace(_STOPWATCH, stopwatch).encode()
