"""GRPO by TRL, whose tasks are those of a server: an environment over OpenEnv. Needs `pip install trl openenv`.

groundup serve nl2repobench --split train --slots 16
python trl_grpo.py Qwen/Qwen3-0.6B
"""

import sys
from typing import Any

from openenv.core import GenericEnvClient  # type: ignore[import-not-found] # of its own environment

ADDRESS = "http://127.0.0.1:8080"
TASKS = 20
"""How many of the server's tasks are trained on."""


class Repository:
    """An episode. TRL makes one instance for each rollout of a batch, and tools of its methods."""

    def __init__(self) -> None:
        """Connect."""
        self._reward: float | None = None
        self._env = GenericEnvClient(base_url=ADDRESS).sync().connect()

    def reset(self, index: int, **row: Any) -> str:
        """Open the episode of a row of the data set; return what is added to its prompt."""
        self._reward = None
        return str(self._env.reset(split="train", index=index).observation["prompt"])

    def bash(self, command: str) -> str:
        """Run commands in a new shell that starts in /workspace. Returns output and exit code.

        Args:
            command: What bash runs; may have many lines.
        """
        return self._done(tool="bash", command=command)

    def submit(self) -> str:
        """Hand in what lies in /workspace, and end the work."""
        return self._done(tool="submit")

    def get_reward(self) -> float | None:
        """Return the reward; None, which TRL leaves out, where the infrastructure failed."""
        if self._reward is None:  # the model ended in plain text
            try:
                self.submit()
            except RuntimeError:
                return None
        return self._reward

    def _done(self, **action: Any) -> str:
        result = self._env.step(action)
        while result.observation["running"]:
            result = self._env.step({"tool": "wait"})
        self._reward = self._reward if result.reward is None else result.reward
        return str(result.observation["output"])


def trainer(model: Any, **settings: Any) -> Any:
    """Return the trainer of *model*; *settings* are those of `GRPOConfig`."""
    from datasets import Dataset  # type: ignore[import-not-found]
    from trl import GRPOConfig, GRPOTrainer  # type: ignore[import-not-found]

    prompt = [{"role": "user", "content": ""}]  # what `reset` returns is added to it
    rows = Dataset.from_list([{"prompt": prompt, "index": index} for index in range(TASKS)])
    given = GRPOConfig(**{"max_completion_length": 8192, "max_tool_calling_iterations": 100, **settings})
    return GRPOTrainer(model=model, train_dataset=rows, environment_factory=Repository, args=given)


if __name__ == "__main__":
    trainer(sys.argv[1]).train()
