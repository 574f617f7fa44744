"""Reads exported rows with `datasets` and formats them with TRL: read_rows.py FOLDER, with a file per form."""

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
    maybe_convert_to_chatml,
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


messages = load_dataset("json", data_files=str(folder / "messages" / "served.jsonl"), split="train")
parquet = load_dataset("parquet", data_files=str(folder / "parquet" / "served.parquet"), split="train")
sharegpt = load_dataset("json", data_files=str(folder / "sharegpt" / "served.jsonl"), split="train")
print(
    json.dumps(
        {
            "messages": [formatted(row) for row in messages],
            "parquet": [formatted(row) for row in parquet],
            "rewards": [messages["reward"][:], parquet["reward"][:], sharegpt["reward"][:]],
            "sharegpt": [
                [message["role"] for message in maybe_convert_to_chatml(row)["messages"]] for row in sharegpt
            ],
        }
    )
)
