"""Under which names a repository may be published: its entry in the index lists what is to be inferred."""

import re

from groundup.suites.dibench.dataset import Problem

_NAMED = re.compile(r"""^\s*["']?name["']?\s*[=:]\s*["']?([A-Za-z0-9][\w.-]*)["']?\s*,?\s*$""", re.MULTILINE)
"""`name = "x"`, as pyproject.toml, setup.cfg and setup.py write it on a line of its own."""


def withheld_names(problem: Problem) -> tuple[str, ...]:
    """Return the repository's own name and those that its Python build files give it, sorted.

    Raises `TaskError` when the masked repository is not at hand.
    """
    if problem.instance.language != "python":
        return ()  # a sandbox reaches no other registry than the Python package index
    full_name = problem.instance.metadata.full_name or problem.instance.instance_id.replace("_", "/", 1)
    names = {full_name.rpartition("/")[2]}
    for path in problem.instance.build_files:
        text = (problem.read(path) or b"").decode(errors="replace")
        names.update(_NAMED.findall(text))
    return tuple(sorted(names))
