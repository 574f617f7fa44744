"""Reads an exported task with Harbor's own models, and writes a trial with them: TASK JOBS."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from harbor.models.task.id import LocalTaskId  # type: ignore[import-not-found]
from harbor.models.task.task import Task  # type: ignore[import-not-found]
from harbor.models.task.verifier_mode import (  # type: ignore[import-not-found]
    resolve_task_verifier_mode,
    resolve_verifier_environment_definition,
)
from harbor.models.trajectories.trajectory import Trajectory  # type: ignore[import-not-found]
from harbor.models.trial.config import TaskConfig, TrialConfig  # type: ignore[import-not-found]
from harbor.models.trial.result import AgentInfo, ModelInfo, TrialResult  # type: ignore[import-not-found]
from harbor.models.verifier.result import VerifierResult  # type: ignore[import-not-found]

folder, jobs = Path(sys.argv[1]), Path(sys.argv[2])
task = Task(folder)
definition = resolve_verifier_environment_definition(task.config, task.paths)
print(
    json.dumps(
        {
            "name": task.name,
            "instruction": task.instruction,
            "mode": resolve_task_verifier_mode(task.config).value,
            "tests_in_image": definition.bundled_tests,
            "verifier": definition.config.docker_image,
            "agent": task.config.environment.docker_image,
            "solution": str(task.paths.discovered_solve_path),
        }
    )
)
trial = jobs / "monday" / "toy__1"
for name in ("agent", "verifier", "artifacts/workspace"):
    (trial / name).mkdir(parents=True)
result = TrialResult(
    task_name=task.name,
    trial_name=trial.name,
    trial_uri=trial.as_uri(),
    task_id=LocalTaskId(path=folder),
    task_checksum="0",
    config=TrialConfig(task=TaskConfig(path=folder)),
    agent_info=AgentInfo(name="terminus", version="2", model_info=ModelInfo(name="small", provider="openai")),
    verifier_result=VerifierResult(rewards={"reward": 0.5, "passed": 1, "total": 2}),
    started_at=datetime.now(UTC),
    finished_at=datetime.now(UTC),
)
(trial / "result.json").write_text(result.model_dump_json())
(trial / "artifacts" / "workspace" / "code.py").write_text("x = 1\n")
trajectory = Trajectory.model_validate(
    {
        "session_id": "1",
        "agent": {"name": "terminus", "version": "2"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Write it."},
            {
                "step_id": 2,
                "source": "agent",
                "message": "I list files.",
                "tool_calls": [{"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "ls"}}],
                "observation": {"results": [{"source_call_id": "1", "content": "code.py"}]},
                "metrics": {"prompt_tokens": 10, "completion_tokens": 3, "cost_usd": 0.01},
            },
        ],
    }
)
(trial / "agent" / "trajectory.json").write_text(trajectory.model_dump_json())
