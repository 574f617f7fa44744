"""`python -m groundup.models.scripted SCRIPT [PORT]`: serve a script to other processes until interrupted."""

import asyncio
import sys
from pathlib import Path

from groundup.models.scripted.server import ScriptedServer, load_script


async def _serve(script: Path, port: int) -> None:
    server = ScriptedServer(load_script(script))
    sys.stdout.write(f"{await server.start(port)}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
