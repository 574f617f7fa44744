"""What tests have nodes do."""

import asyncio
import os
from pathlib import Path


async def begun_twice(notes: str) -> str:
    """Note this process; go on for ever the first time, and say which process it is the second time."""
    path = Path(notes)
    if path.exists():
        return str(os.getpid())
    path.write_text(str(os.getpid()))
    await asyncio.sleep(3600)
    return "never"


async def failing(why: str) -> str:
    """Fail."""
    raise ValueError(why)
