"""A job that calls another workflow, as a workflow that calls none: what act is given, and what an instance holds.

The called jobs stand in it with the values of their inputs. Secrets and variables of a repository are empty here.
"""

import re
from collections.abc import Mapping
from io import BytesIO

from pydantic import JsonValue

from groundup.workflows.expressions import UNKNOWN, Contexts
from groundup.workflows.jobs import contexts_of, declared_inputs, given_inputs
from groundup.workflows.matrix import Leg
from groundup.workflows.workflow import Job, Workflow, WorkflowError, as_text

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_INPUT = re.compile(r"\binputs(?:\.([\w-]+)|\[\s*'([^']+)'\s*\])")
_KEPT = ("name", "env", "defaults", "permissions", "jobs")


def written_out(caller: Workflow, job: Job, leg: Leg, called: Workflow, remark: str) -> bytes:
    """Return the workflow that does what *job* of *caller* does by calling *called*, as YAML after a *remark*.

    Raises `WorkflowError` when an input is known only while the caller runs.
    """
    on = called.document.get("on")
    call = on.get("workflow_call") if isinstance(on, dict) else None
    given = given_inputs(caller, job, contexts_of(caller, job, leg))
    inputs = {**declared_inputs(call), **given}
    types = _types(call)
    typed = {name: _typed(value, types.get(name)) for name, value in inputs.items()}
    kept = {key: value for key, value in called.document.items() if key in _KEPT}
    replaced = _replaced(kept, typed)
    assert isinstance(replaced, dict)
    jobs = replaced["jobs"]
    assert isinstance(jobs, dict)
    whole = {**replaced, "on": caller.event, "jobs": {name: _with_matrix(one) for name, one in jobs.items()}}
    return b"".join(f"# {line}\n".encode() for line in remark.splitlines()) + _as_yaml(whole)


def _types(call: JsonValue) -> dict[str, str]:
    inputs = call.get("inputs") if isinstance(call, dict) else None
    tables = inputs.items() if isinstance(inputs, dict) else ()
    return {name: str(table.get("type", "string")) for name, table in tables if isinstance(table, dict)}


def _typed(value: JsonValue, kind: str | None) -> JsonValue:
    """Return an input as its declaration has it: an expression of the caller gives a text."""
    if isinstance(value, str) and kind == "boolean" and value in ("true", "false", ""):
        return value == "true"
    if isinstance(value, str) and kind == "number" and re.fullmatch(r"-?\d+", value):
        return int(value)
    return as_text(value) or "" if kind == "string" else value


def _replaced(value: JsonValue, inputs: Mapping[str, JsonValue], key: str = "") -> JsonValue:
    """Return *value* with the inputs in its expressions as literals; a condition is an expression as a whole."""
    if isinstance(value, dict):
        return {name: _replaced(item, inputs, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, inputs) for item in value]
    if not isinstance(value, str):
        return value

    def literal(match: re.Match[str]) -> str:
        return _literal(match[1] or match[2], inputs)

    if key == "if":
        return _INPUT.sub(literal, value)
    return _EXPRESSION.sub(lambda match: "${{" + _INPUT.sub(literal, match[1]) + "}}", value)


def _literal(name: str, inputs: Mapping[str, JsonValue]) -> str:
    value = inputs.get(name)
    if isinstance(value, str) and "${{" in value:
        whole = _EXPRESSION.fullmatch(value.strip())
        if whole is None or "needs." in value or "matrix." in value:
            raise WorkflowError(f"the input {name} of a called workflow is known only while the workflow runs")
        return f"({whole[1].strip()})"
    if value is None:
        return "''"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else as_text(value) or "''"


def _with_matrix(job: JsonValue) -> JsonValue:
    """Return a job whose matrix, where an input made it, is written out."""
    strategy = job.get("strategy") if isinstance(job, dict) else None
    matrix = strategy.get("matrix") if isinstance(strategy, dict) else None
    if not isinstance(job, dict) or not isinstance(strategy, dict) or matrix is None:
        return job
    if isinstance(matrix, dict):
        known: JsonValue = {key: _known(values) for key, values in matrix.items()}
    else:
        known = _known(matrix)
    return job | {"strategy": strategy | {"matrix": known}}


def _known(value: JsonValue) -> JsonValue:
    whole = _EXPRESSION.fullmatch(value.strip()) if isinstance(value, str) else None
    found = Contexts({}).value(whole[1]) if whole else UNKNOWN
    return value if found is UNKNOWN or not isinstance(found, dict | list) else found


def _as_yaml(document: Mapping[str, JsonValue]) -> bytes:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # as its documentation has it
    yaml.width = 1000
    stream = BytesIO()
    yaml.dump(dict(document), stream)
    return stream.getvalue()
