"""The publishers' command line of act, read for what it says: workflow file, job, values of the matrix."""

import shlex

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.suites.dibench.instances import Instance

_VALUED = {
    "-j": "job", "--job": "job", "-W": "workflow", "--workflows": "workflow", "--workflow": "workflow",
    "-m": "matrix", "--matrix": "matrix",
}  # fmt: skip
_OTHERS_VALUED = ("-P", "--platform", "-s", "--secret", "--env", "-e", "--eventpath", "-C", "--directory")


class JobCommand(Record):
    """Which job of which workflow is the test."""

    workflow: str
    job: str | None
    matrix: dict[str, str] = {}


def job_command(instance: Instance) -> JobCommand:
    """Return what the instance's command asks for. Raises `TaskError` for one that is not act's."""
    try:
        words = shlex.split(instance.act_command)
    except ValueError as error:
        raise TaskError(f"{instance.instance_id}: act_command is no command line: {error}") from error
    if not words or words[0].rpartition("/")[2] != "act":
        raise TaskError(f"{instance.instance_id}: act_command does not call act: {instance.act_command[:100]}")
    found: dict[str, list[str]] = {}
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _VALUED:
            found.setdefault(_VALUED[name], []).append(value if equals else next(rest, ""))
        elif name in _OTHERS_VALUED and not equals:
            next(rest, None)
    pins = [pin.partition(":") for pin in found.get("matrix", [])]
    workflow = found.get("workflow", [instance.ci_file])[-1].removeprefix("./")
    return JobCommand(
        workflow=workflow if workflow.endswith((".yml", ".yaml")) else instance.ci_file,
        job=found.get("job", [None])[-1],
        matrix={key: value.strip() for key, _, value in pins},
    )
