"""Plays episodes by OpenEnv's generic client: address, then a command for each; prints their rewards as JSON."""

import json
import os
import sys

from openenv.core import GenericEnvClient  # type: ignore[import-not-found] # of its own environment

rewards = []
with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    for command in sys.argv[2:]:
        assert len(env.reset(split="test", index=0).observation["prompt"]) > 20
        said = env.step({"tool": "bash", "command": "printf '   begin'; printf ' %.0s' {1..9000}; echo end"})
        assert said.observation["output"].startswith(os.environ["BEGINS"])
        for action in ({"tool": "bash", "command": command}, {"tool": "submit"}):
            result = env.step(action)
            while result.observation["running"]:
                result = env.step({"tool": "wait"})
        assert result.done
        rewards.append(result.reward)
print(json.dumps(rewards))
