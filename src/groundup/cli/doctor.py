"""`groundup doctor`: what this machine can do."""

from groundup.cli.options import Examples, Json

EXAMPLES: Examples = (("Can this machine grade?", "groundup doctor"),)


def doctor(json: Json = False) -> int:
    """Say what this machine can do."""
    return 0
