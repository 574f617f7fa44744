"""Converts exported rows as LLaMA-Factory does, and prints them: convert_rows.py FOLDER, with a file per form."""

import importlib.util
import json
import sys
import types
from pathlib import Path

# Its package imports all that trains; only the converters are wanted.
spec = importlib.util.find_spec("llamafactory")
assert spec is not None
assert spec.submodule_search_locations is not None
for name in ("llamafactory", "llamafactory.data"):
    module = types.ModuleType(name)
    module.__path__ = [str(Path(spec.submodule_search_locations[0], *name.split(".")[1:]))]
    sys.modules[name] = module

from llamafactory.data.converter import (  # type: ignore[import-not-found] # noqa: E402
    OpenAIDatasetConverter,
    SharegptDatasetConverter,
)
from llamafactory.data.parser import DatasetAttr  # type: ignore[import-not-found] # noqa: E402

FORMS = {
    "sharegpt": (SharegptDatasetConverter, {"messages": "conversations"}),
    "messages": (
        OpenAIDatasetConverter,
        {
            "messages": "messages",
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
            "observation_tag": "tool",
        },
    ),
}
found = {}
for form, (converter, names) in FORMS.items():
    attributes = DatasetAttr("file", dataset_name="served", formatting="sharegpt")
    for name, value in {**names, "tools": "tools", "system_tag": "system"}.items():
        setattr(attributes, name, value)
    (path,) = (Path(sys.argv[1]) / form).glob("*.jsonl")
    convert = converter(attributes, None)
    found[form] = [convert(json.loads(line)) for line in path.read_text().splitlines()]
print(json.dumps(found))
