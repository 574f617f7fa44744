"""Plays episodes by `inspect-openreward`: address, environment, a model's URL; prints rewards as JSON."""

import json
import os
import sys
import tempfile

address, environment, url = sys.argv[1:]
os.environ.update(OPENREWARD_API_URL=address, OPENREWARD_SESSION_URL=address, OPENREWARD_API_KEY="none")

from inspect_ai import Task, eval  # noqa: A004, E402
from inspect_ai.model import get_model  # noqa: E402
from inspect_openreward import (  # type: ignore[import-not-found] # noqa: E402
    openreward_dataset,
    openreward_scorer,
    openreward_solver,
)
from openreward import OpenReward  # type: ignore[import-not-found] # noqa: E402

found = OpenReward().environments.get(name=environment)
task = Task(
    dataset=openreward_dataset(found, "test", limit=1), solver=openreward_solver(found), scorer=openreward_scorer()
)
model = get_model("openai-api/scripted/scripted", base_url=url, api_key="none")
(log,) = eval(task, model=model, display="none", log_dir=tempfile.mkdtemp())
assert log.status == "success", log.error
print(json.dumps([score.value for sample in log.samples for score in sample.scores.values()]))
