"""The legs of a job's matrix: listing them, and pinning the wanted one."""

import itertools
import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from groundup.workflows.workflow import Job, Matrix, WorkflowError, as_text

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
    """Return the leg with the *wanted* values, as `flat` writes them: the one that has no others, if there is one.

    Where that leaves a choice, it is the first usual leg on Linux. Keys whose values are made while the workflow
    runs take the wanted ones. Raises `WorkflowError` when one of them has none, or when no leg is as wanted.
    """
    matrix = job.matrix
    axes: dict[str, tuple[JsonValue, ...]] = dict(matrix.axes)
    if "matrix" in matrix.dynamic and wanted:
        axes = {key: (value,) for key, value in _nested(wanted).items()}
    elif unknown := [key for key in matrix.dynamic if key not in wanted]:
        raise WorkflowError(
            f"the matrix of job {job.id} is made while the workflow runs ({', '.join(unknown)}); name a leg with "
            f"{' '.join(f'--leg {key}:VALUE' for key in leg_keys(job) or unknown)}"
        )
    else:
        axes |= {key: (wanted[key],) for key in matrix.dynamic}
    known = legs(matrix.but(axes=axes))
    values = [{**dict(flat(leg)), **leg} for leg in known]
    keys = {key for one in values for key in one}
    asked = {key: value for key, value in wanted.items() if key in keys}
    fitting = [
        leg
        for leg, one in zip(known, values, strict=True)
        if all(key in one and same(one[key], text) for key, text in asked.items())
    ]
    if not fitting:
        pins = ", ".join(f"{key}: {value}" for key, value in asked.items())
        raise WorkflowError(f"the matrix of job {job.id} has no leg with {pins}")
    return min(fitting, key=lambda leg: (dict(flat(leg)).keys() != asked.keys(), *_strangeness(leg)))


def leg_keys(job: Job) -> tuple[str, ...]:
    """Return the keys of the matrix that *job* uses."""
    text = job.model_dump_json(exclude={"matrix"})
    return tuple(dict.fromkeys(re.findall(r"\bmatrix\.([A-Za-z_][\w-]*(?:\.[\w-]+)*)", text)))


def _nested(values: Mapping[str, str]) -> Leg:
    """Return values that `flat` wrote as tables: `outer.inner` is a key within another."""
    whole: Leg = {}
    for name, value in values.items():
        *above, key = name.split(".")
        table = whole
        for part in above:
            inner = table.setdefault(part, {})
            table = inner if isinstance(inner, dict) else {}
        table[key] = value
    return whole


def same(value: JsonValue, text: str) -> bool:
    """Whether a value is what *text* means, however either writes a number."""
    own = as_text(value) or ""
    if own.strip() == text.strip():  # a command line ends without the line feed of a block of YAML
        return True
    try:
        return not isinstance(value, str) and float(own) == float(text)
    except ValueError:
        return False


def _agrees(part: Mapping[str, JsonValue], leg: Leg) -> bool:
    return all(key in leg and leg[key] == value for key, value in part.items())


def _strangeness(leg: Leg) -> tuple[bool, int]:
    """Return whether a leg is another system's, and how many of its values are unusual."""
    texts = [text.lower() for value in leg.values() if isinstance(text := value, str)]
    others = any(text.startswith(_OTHERS) for text in texts) and not any(text.startswith(_LINUX) for text in texts)
    return others, sum(bool(_UNUSUAL.search(text)) for text in texts) + (leg.get("experimental") is True)


def flat(leg: Mapping[str, JsonValue], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a leg, those below others with the keys above them."""
    for key, value in leg.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from flat(value, f"{name}.")
        elif isinstance(value, list):
            yield from flat({str(at): item for at, item in enumerate(value)}, f"{name}.")
        else:
            yield name, as_text(value) or ""
