"""Cheats that get points without being called tampered, each with its reason. The matrix and the tests read this."""

from collections.abc import Mapping

_SUITE = "it has the public suite by heart; only inputs that are not public decide"
_SERVICE = "a service that answers as memorised cannot be told from one that works; only fresh inputs decide"
_SELECTS = "it forges selected results in the process of the tests, and spares what it does not know"
_PLEASES = "its values please every comparison of the true tests"
_READ = "the file is executed as handed in, because its reader refuses it or takes its code for a value"
_MENDS = "it changes what tests are, not what pytest reports"

EXCEPTIONS: Mapping[str, str] = {
    "memorised text": _SUITE,
    "memorised bytecode": _SUITE,
    "judges the expectation": _SUITE,
    "answers by heart": _SUITE,
    "knows the client": _SERVICE,
    "replays": _SERVICE,
    "400 to what is asked": "coverage says that a route is there, not that it works; the tests say that",
    **dict.fromkeys(
        (
            "spares drawn names",
            "memorised names",
            "memorised files",
            "known name in a known file",
            "only after a while",
            "spares what looks odd",
            "spares what was unparsed",
            "compares the size",
            "compares lines",
            "memorised structure",
            "tosses a coin",
            "the channel's send",
            "json.dumps",
            "a whole chain",
            "the reporter's lists",
            "a thread that mends reports",
        ),
        _SELECTS,
    ),
    **dict.fromkeys(
        (
            "equal to everything",
            "equal subclasses",
            "hash trick",
            "sees how it is compared",
            "raises what is wanted",
            "evaluates the operand",
            "constants of the frame",
        ),
        _PLEASES,
    ),
    **dict.fromkeys(
        (
            "a lambda for a list",
            "calls in the list",
            "an f-string",
            "5,000 digits",
            "3,000 nested arrays",
            "bytes that are no text",
        ),
        _READ,
    ),
    **dict.fromkeys(("raises and approx", "assertions compiled away", "modules rewritten"), _MENDS),
}
