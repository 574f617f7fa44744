"""The workflow that act is given."""

import pytest

from groundup.grading.ci.act_sandbox import derived_workflow
from groundup.workflows.workflow import read_workflow, read_yaml


@pytest.mark.parametrize("name", ["tests \N{PACKAGE}", "\\ud83d\\ude00", "a\\\N{PACKAGE}", 'é "q"', "\x07"])
def test_names_of_any_characters_reach_act_as_they_are(name: str) -> None:
    """What is written is YAML: characters beyond the basic plane are one escape, as act's parser wants them."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\x07", "\\a")
    source = f'on: push\njobs:\n  a:\n    name: "{quoted}"\n    runs-on: ubuntu-latest\n    steps: [{{run: x}}]\n'
    derived = derived_workflow(read_workflow(source.encode(), "a.yml"), "a", {}, "push")

    document = read_yaml(derived, "b.yml")
    assert isinstance(document, dict)
    jobs = document["jobs"]
    assert isinstance(jobs, dict)
    assert isinstance(jobs["a"], dict)
    assert jobs["a"]["name"] == name
    assert b"\\ud8" not in derived.replace(b"\\\\", b"")
