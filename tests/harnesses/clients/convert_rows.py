"""Converts exported rows of ShareGPT as LLaMA-Factory does, and prints what it makes: convert_rows.py FILE."""

import importlib.util
import json
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

# Its packages import all that trains; only the converters are wanted, and they want a logger.
spec = importlib.util.find_spec("llamafactory")
assert spec is not None
assert spec.submodule_search_locations is not None
for name in ("llamafactory", "llamafactory.data", "llamafactory.extras"):
    module = types.ModuleType(name)
    module.__path__ = [str(Path(spec.submodule_search_locations[0], *name.split(".")[1:]))]
    sys.modules[name] = module
said = MagicMock()
sys.modules["llamafactory.extras"].logging = sys.modules["llamafactory.extras.logging"] = said  # type: ignore[attr-defined]

from llamafactory.data.converter import SharegptDatasetConverter  # type: ignore[import-not-found] # noqa: E402

NOTHING = dict.fromkeys(("system", "images", "videos", "audios", "kto_tag", "ranking", "chosen", "rejected"))
USUAL = {
    "messages": "conversations",
    "tools": "tools",
    "role_tag": "from",
    "content_tag": "value",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
"""As its parser has them."""
convert = SharegptDatasetConverter(types.SimpleNamespace(**NOTHING, **USUAL), None)
rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
found = [convert(row) for row in rows]
assert not said.get_logger().warning_rank0.called, said.mock_calls
print(json.dumps(found))
