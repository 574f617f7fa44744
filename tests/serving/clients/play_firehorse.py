"""Plays an episode by `firehorse`: address, environment, a model's URL; prints the trials' rewards as JSON."""

import json
import os
import sys
import tempfile
from pathlib import Path

from firehorse.cli import main  # type: ignore[import-not-found] # of its own environment

address, environment, url = sys.argv[1:]
os.environ.update(OPENREWARD_API_URL=address, OPENREWARD_SESSION_URL=address, OPENREWARD_API_KEY="none")
os.environ["OPENROUTER_API_KEY"] = "none"
output = Path(tempfile.mkdtemp())
options = {
    "--env": f"lab/{environment}",
    "--agent": "react",
    "--model": "openrouter/scripted",
    "--provider-url": url,
}
options |= {"--max-tasks": "1", "--toolset": "", "--output-dir": str(output)}
code = main([*(word for pair in options.items() for word in pair), "--no-logging"])
assert code == 0, code
found = [json.loads(path.read_text()) for path in sorted(output.rglob("*.json"))]
print(json.dumps([trial["final_reward"] for trial in found if "final_reward" in trial]))
