"""The legs of a job's matrix, and the one that is wanted, with every key pinned."""

import itertools
import re
from collections.abc import Mapping

from pydantic import JsonValue

from groundup.grading.ci.workflow import Job, Matrix, WorkflowError, as_text

Leg = dict[str, JsonValue]
"""One value for each key."""
_MOST = 256
"""As on GitHub."""
_LINUX = ("ubuntu", "linux")
_OTHERS = ("windows", "macos", "mac-")
_UNUSUAL = re.compile(r"pypy|graalpy|nightly|beta|alpha|canary|-dev\b|-rc|-arm|\d+t$")


def legs(matrix: Matrix) -> tuple[Leg, ...]:
    """Return all legs that are known before a workflow runs, in GitHub's order; one empty leg for no matrix."""
    product = itertools.product(*matrix.axes.values()) if matrix.axes else ()
    found: list[Leg] = []
    for values in itertools.islice(product, _MOST):
        leg = dict(zip(matrix.axes, values, strict=True))
        if not any(_agrees(excluded, leg) for excluded in matrix.exclude):
            found.append(leg)
    originals = [dict(leg) for leg in found]
    for extra in matrix.include:
        fitting = [
            at for at, leg in enumerate(originals) if all(extra.get(key, leg[key]) == leg[key] for key in leg)
        ]
        for at in fitting:
            found[at].update(extra)
        if not fitting:
            found.append(dict(extra))
    return tuple(found[:_MOST]) or ({},)


def pinned(job: Job, wanted: Mapping[str, str]) -> Leg:
    """Return the leg with the *wanted* values; where that leaves a choice, the first usual one on Linux.

    Keys whose values are made while the workflow runs take the wanted ones. Raises `WorkflowError` when one of
    them has none, or when no leg is as wanted.
    """
    matrix = job.matrix
    unknown = [key for key in matrix.dynamic if key not in wanted]
    if unknown:
        raise WorkflowError(
            f"the matrix of job {job.id} is made while the workflow runs ({', '.join(unknown)}); name a value of "
            "each key"
        )
    axes = matrix.axes | {key: (wanted[key],) for key in matrix.dynamic}
    known = legs(matrix.model_copy(update={"axes": axes}))
    keys = {key for leg in known for key in leg}
    asked = {key: value for key, value in wanted.items() if key in keys}
    fitting = [leg for leg in known if all(key in leg and same(leg[key], text) for key, text in asked.items())]
    if not fitting:
        told = ", ".join(f"{key}: {value}" for key, value in asked.items())
        raise WorkflowError(f"the matrix of job {job.id} has no leg with {told}")
    return min(fitting, key=_strangeness)


def same(value: JsonValue, text: str) -> bool:
    """Whether a value is what *text* means, however either writes a number."""
    own = as_text(value)
    if own == text:
        return True
    try:
        return not isinstance(value, str) and own is not None and float(own) == float(text)
    except ValueError:
        return False


def _agrees(part: Mapping[str, JsonValue], leg: Leg) -> bool:
    return all(key in leg and leg[key] == value for key, value in part.items())


def _strangeness(leg: Leg) -> tuple[bool, int]:
    """Return whether a leg is another system's, and how many of its values are unusual."""
    texts = [text.lower() for value in leg.values() if isinstance(text := value, str)]
    others = any(text.startswith(_OTHERS) for text in texts) and not any(text.startswith(_LINUX) for text in texts)
    return others, sum(bool(_UNUSUAL.search(text)) for text in texts) + (leg.get("experimental") is True)
