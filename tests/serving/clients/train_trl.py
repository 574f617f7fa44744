"""A step of GRPO without a GPU, by examples/trl_grpo.py: address, a folder, a command for each of two rollouts.

The model is tiny and random. What it says is scripted, so that its rollouts differ: the command, in the first
rollout a submission, then plain text. All else is TRL's: tools, rollouts over OpenEnv, rewards, loss, step. Prints
as JSON the mean reward, calls of tools, and whether the step moved the weights.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # type: ignore[import-not-found]
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # type: ignore[import-not-found]
from trl.chat_template_utils import qwen2_5_chat_template  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import trl_grpo  # type: ignore[import-not-found]

address, folder, *commands = sys.argv[1:]


def tokenizer() -> Any:
    """Return one whose tokens are bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={one: number for number, one in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    end, begin, pad = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=end, pad_token=pad, additional_special_tokens=[begin]
    )
    found.chat_template = qwen2_5_chat_template
    return found


TOKENS = tokenizer()


def said(number: int, seen: str) -> str:
    """Return what comes next in the rollout of this number, whose text so far was *seen*."""
    turns: list[dict[str, object]] = [{"name": "bash", "arguments": {"command": commands[number]}}]
    if not number:
        turns.append({"name": "submit", "arguments": {}})
    done = seen.count("<tool_response>")
    text = f"<tool_call>\n{json.dumps(turns[done])}\n</tool_call>" if done < len(turns) else "Done."
    return f"{text}<|im_end|>"


class Scripted(Qwen2ForCausalLM):  # type: ignore[misc] # of its own environment
    """A model that says what it shall."""

    def generate(self, input_ids: Any, **more: Any) -> Any:
        """Return the prompts with what comes next, padded."""
        seen = TOKENS.batch_decode(input_ids)
        rows = [TOKENS.encode(said(number, text)) for number, text in enumerate(seen)]
        longest = max(map(len, rows))
        padded = [row + [TOKENS.pad_token_id] * (longest - len(row)) for row in rows]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


trl_grpo.ADDRESS, trl_grpo.TASKS = address, 1
TOKENS.save_pretrained(folder)
torch.manual_seed(1)
model = Scripted(
    Qwen2Config(
        vocab_size=len(TOKENS),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        eos_token_id=TOKENS.eos_token_id,
        pad_token_id=TOKENS.pad_token_id,
    )
)
model.config._name_or_path = folder
before = [one.detach().clone() for one in model.parameters()]
training = trl_grpo.trainer(
    model,
    output_dir=f"{folder}/out",
    use_cpu=True,
    bf16=False,
    max_steps=1,
    per_device_train_batch_size=len(commands),
    num_generations=len(commands),
    learning_rate=0.1,
    logging_steps=1,
    save_strategy="no",
    report_to="none",
)
training.train()
(step,) = (one for one in training.state.log_history if "reward" in one)
moved = any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
print(json.dumps({"reward": step["reward"], "calls": step["tools/call_frequency"], "moved": moved}))
