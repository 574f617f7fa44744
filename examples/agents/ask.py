"""An agent in 15 lines: sends its task to the model, once, and writes the reply into a file."""
# ruff: noqa: S310, TID251 - a program of somebody else's, which knows nothing of groundup

import json
import os
import sys
import urllib.request
from pathlib import Path

question = {"role": "user", "content": Path(sys.argv[1]).read_text(encoding="utf-8")}
body = json.dumps({"model": "any", "messages": [question]}).encode()
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as response:
    reply = json.load(response)["choices"][0]["message"]["content"]
Path("answer").write_text(reply, encoding="utf-8")
