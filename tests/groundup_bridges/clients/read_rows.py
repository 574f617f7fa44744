"""Reads exported rows with `datasets` and formats them with TRL: read_rows.py FOLDER."""

import json
import sys
from pathlib import Path
from typing import Any

from datasets import load_dataset  # type: ignore[import-not-found]
from tokenizers import Tokenizer, models  # type: ignore[import-not-found]
from transformers import PreTrainedTokenizerFast  # type: ignore[import-not-found]
from trl.data_utils import (  # type: ignore[import-not-found]
    is_conversational,
    maybe_apply_chat_template,
)

TEMPLATE = """{%- for tool in tools or [] %}<tool>{{ tool.function.name }}</tool>{% endfor %}
{%- for message in messages %}<{{ message.role }}>{{ message.content }}
{%- for call in message.tool_calls or [] %}<call>{{ call.function.name }} {{ call.function.arguments }}</call>
{%- endfor %}{% endfor %}"""

folder = Path(sys.argv[1])
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, "a")))
tokenizer.chat_template = TEMPLATE


def formatted(row: dict[str, Any]) -> str:
    """Return the row as a model reads it."""
    assert is_conversational(row)
    messages = {"messages": row["messages"]}
    return str(maybe_apply_chat_template(messages, tokenizer, tools=json.loads(row["tools"]))["text"])


rows = load_dataset("json", data_files=str(folder / "served.jsonl"), split="train")
print(json.dumps({"messages": [formatted(row) for row in rows], "rewards": rows["reward"][:]}))
