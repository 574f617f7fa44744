"""Plays the episodes of examples/trl_grpo.py as TRL's GRPOTrainer does, without a model: address, commands.

Of each environment it takes the methods as tools, resets it with a row, calls tools and asks for its reward. The
second rollout submits nothing, as a model that ends in plain text. Prints the rewards as JSON.
"""

import inspect
import json
import sys
from pathlib import Path

from transformers.utils import get_json_schema  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import trl_grpo  # type: ignore[import-not-found]

trl_grpo.ADDRESS = sys.argv[1]
environment = trl_grpo.Repository()
names = [
    name
    for name, _ in inspect.getmembers(type(environment), predicate=inspect.isfunction)
    if name not in ("reset", "get_reward") and not name.startswith("_")
]
schemas = [get_json_schema(getattr(environment, name))["function"] for name in names]
told = [(one["name"], list(one["parameters"]["properties"])) for one in schemas]
assert told == [("bash", ["command"]), ("submit", [])]
rewards = []
for number, command in enumerate(sys.argv[2:]):
    row = {"prompt": [{"role": "user", "content": ""}], "index": number}
    assert environment.reset(**row).startswith(f"Write task-000{number}.")
    assert "[exit code 0]" in environment.bash(command=command)
    if not number:
        assert "Submitted" in environment.submit()
    rewards.append(environment.get_reward())
print(json.dumps(rewards))
