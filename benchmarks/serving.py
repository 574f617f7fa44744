"""How much `groundup serve` costs besides what sandboxes do.

    python benchmarks/serving.py sessions [--number 300] [--peer PYTHON]   # sessions of 7 calls, fake sandboxes
    python benchmarks/serving.py open [--number 200] [--seconds 2]         # all open at once, with long steps
    python benchmarks/serving.py memory [--number 1000] [--real]           # all open at once, after a command each
    python benchmarks/serving.py killed [--number 1000] [--real]           # clients that are killed at random
    python benchmarks/serving.py latency [--task jsonlines] [--number 5]   # real episodes of NL2RepoBench
        [--grader official] [--archive FILE]                               # handed in; else nothing

`--peer` is an interpreter that has `openreward`, whose own server plays the same sessions with empty tools; rounds
take turns. `--real`: bubblewrap instead of fake sandboxes.
Figures are processor seconds of the server, which a busy machine changes less than the clock's. Sessions write
below TMPDIR: 13 folders and 9 files each, and on ext4 a folder costs 0.2 ms of processor until it is gone again.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
SUITE = "tests.runs.toy:create_written"
PEER = """
from openreward.environments import Environment, Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel

class Nothing(BaseModel):
    pass

class Command(BaseModel):
    command: str

class Toy(Environment):
    @classmethod
    def list_splits(cls): return ["test"]
    @classmethod
    def list_tasks(cls, split): return [{"task": "task-0000"}]
    def get_prompt(self): return [TextBlock(text="Write task-0000.")]
    @tool
    async def bash(self, given: Command) -> ToolOutput:
        "Run."
        return ToolOutput(blocks=[TextBlock(text="done")])
    @tool
    async def submit(self, given: Nothing) -> ToolOutput:
        "Hand in."
        return ToolOutput(blocks=[TextBlock(text="done")], reward=0.0, finished=True)

Server([Toy]).run(host="127.0.0.1", port=PORT)
"""


class FailedError(Exception):
    """The server answered something else than was asked for."""


def _cpu_s(pid: int) -> tuple[float, float]:
    """Return the processor time of a process, and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    times = [int(fields[number]) / os.sysconf("SC_CLK_TCK") for number in (11, 12, 13, 14)]
    return times[0] + times[1], times[2] + times[3]


class Served:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.address = f"http://127.0.0.1:{port}"

    def cpu_s(self) -> float:
        """Return the processor time that it and its ended children used."""
        return sum(_cpu_s(self.process.pid))

    def shares_s(self) -> "Counter[str]":
        """Return the processor time so far: of the server, its launcher, its ended sandboxes, and this client."""
        client = resource.getrusage(resource.RUSAGE_SELF)
        found = {"server": _cpu_s(self.process.pid)[0], "client": client.ru_utime + client.ru_stime}
        for child in _read(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")).split():
            found["launcher"], found["sandboxes"] = _cpu_s(int(child))
        return Counter(found)

    def descriptors(self) -> int:
        """Return how many files and sockets it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    async def answers(self) -> "Served":
        """Wait until it does."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                async with Wire(self.address) as wire:
                    await wire.ask("GET", "/health")
                    return self
            assert self.process.poll() is None, "the server has ended"
            await asyncio.sleep(0.2)


def started(folder: Path, arguments: argparse.Namespace, *options: str, suite: str = SUITE) -> Served:
    """Start ours; the toy suite with environments in which nothing is, and with fake sandboxes if not `real`."""
    house, port = "tests.serving.house", arguments.port
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if suite == SUITE:
        environment |= {"GROUNDUP_CACHE_DIR": str(folder / "cache"), "GROUNDUP_BUILDER": f"{house}:create_builder"}
        environment["GROUNDUP_SANDBOX"] = "bubblewrap" if arguments.real else f"{house}:create_provider"
    command = [sys.executable, "-m", "groundup", "serve", suite, "--port", str(port), "-o", str(folder / "runs")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--run-id", "bench", *options], env=environment, stderr=log)
    return Served(process, port)


def peer(interpreter: str, port: int) -> Served:
    """Start the peer's server."""
    quiet = subprocess.DEVNULL
    program = PEER.replace("PORT", str(port))
    return Served(subprocess.Popen([interpreter, "-c", program], stdout=quiet, stderr=quiet), port)


class Wire:
    """One connection that asks and waits, by hand: of two processors a client must leave the server its own."""

    def __init__(self, address: str) -> None:
        self._host, self._port = address.removeprefix("http://").split(":")
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> "Wire":
        self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port))
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    async def ask(self, method: str, path: str, sid: str = "", **body: Any) -> tuple[int, str]:
        """Return status and text. Raises `OSError` and `EOFError` when the connection breaks."""
        assert self._reader is not None
        assert self._writer is not None
        data = json.dumps(body).encode() if body else b""
        session = f"X-Session-ID: {sid}\r\n" if sid else ""
        self._writer.write(f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n{session}".encode())
        self._writer.write(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        found = await self._reader.readexactly(int(length)) if length else await self._chunks()
        return int(head[9:12]), found.decode()

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        found = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            found += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return found


async def asked(wire: Wire, method: str, path: str, sid: str = "", **body: Any) -> str:
    """Return what is answered; ask again as long as the server starts."""
    while True:
        status, text = await wire.ask(method, path, sid, **body)
        if status == 200:
            return text
        if status != 503:
            raise FailedError(f"{method} {path}: {status} {text[:300]}")
        await asyncio.sleep(0.2)


async def session(wire: Wire, command: str = "ls") -> float:
    """Play a session of seven calls; return its reward."""
    sid = (await asked(wire, "POST", "/create_session")).partition("data: ")[2].split()[0]
    await asked(wire, "POST", "/create", sid, split="test", index=0)
    await asked(wire, "GET", "/toy/prompt", sid)
    for _ in range(2):
        await asked(wire, "POST", "/toy/call", sid, name="bash", input={"command": command})
    done = await asked(wire, "POST", "/toy/call", sid, name="submit", input={})
    await asked(wire, "POST", "/delete", sid)
    if "event: error" in done:
        raise FailedError(done)  # such as of a session that was silent for too long
    return float(json.loads(done.rpartition("data: ")[2])["output"]["reward"])


async def many(address: str, number: int, at_once: int, play: Callable[[Wire], Awaitable[Any]]) -> Any:
    """Play so many sessions, each on a connection of its own; return what they returned."""
    turns = asyncio.Semaphore(at_once)

    async def one() -> Any:
        async with turns, Wire(address) as wire:
            return await play(wire)

    return await asyncio.gather(*(one() for _ in range(number)))


async def measured(server: Served, number: int) -> tuple[float, float, "Counter[str]"]:
    """Return sessions per second of the clock, and of the server's processor, and whose time they took."""
    await many(server.address, 20, 8, session)
    before, began = server.shares_s(), time.perf_counter()
    await many(server.address, number, 16, session)
    took_s, used = time.perf_counter() - began, server.shares_s()
    used.subtract(before)
    return number / took_s, number / max(used["server"], 0.01), used


async def sessions(folder: Path, arguments: argparse.Namespace) -> None:
    """Print ours, and the peer's."""
    servers = {"groundup": started(folder, arguments, "--slots", "16")}
    if arguments.peer:
        servers["openreward"] = peer(arguments.peer, arguments.port + 1)
    try:
        for server in servers.values():
            await server.answers()
        for turn in range(arguments.rounds):
            found = {name: await measured(server, arguments.number) for name, server in servers.items()}
            for name, (clock, processor, used) in found.items():
                shares = ", ".join(f"{who} {1000 * spent / arguments.number:.2f}" for who, spent in used.items())
                print(f"{turn} {name:10} {clock:7.1f} sessions/s, {processor:7.1f} per processor second", end="; ")
                print(f"ms of processor time: {shares}", flush=True)
            if arguments.peer:
                ratios = [ours / theirs for ours, theirs in zip(*(one[:2] for one in found.values()), strict=True)]
                print(
                    f"{turn} ratio      {ratios[0]:7.2f} by the clock, {ratios[1]:7.2f} by processor", flush=True
                )
    finally:
        for server in servers.values():
            server.process.terminate()
            server.process.wait()


async def all_open(folder: Path, arguments: argparse.Namespace) -> None:
    """Print how many of so many sessions that are open at once came to their reward."""
    server = await started(folder, arguments, "--slots", str(arguments.number)).answers()
    began, before = time.perf_counter(), server.cpu_s()

    async def play(wire: Wire) -> float:
        return await session(wire, f"slow {arguments.seconds}")

    rewards = await many(server.address, arguments.number, arguments.number, play)
    print(f"{len(rewards)} of {arguments.number} have a reward, {server.cpu_s() - before:.1f} processor seconds")
    print(f"{time.perf_counter() - began:.1f} s by the clock")
    server.process.terminate()
    server.process.wait()


async def memory(folder: Path, arguments: argparse.Namespace) -> None:
    """Print what the server, and it with all its processes, hold with so many sessions open after one command."""
    server = await started(folder, arguments, "--slots", str(arguments.number)).answers()
    await many(server.address, 1, 1, session)
    before = held_mb(server.process.pid)

    async def opened(wire: Wire) -> str:
        sid = (await asked(wire, "POST", "/create_session")).partition("data: ")[2].split()[0]
        await asked(wire, "POST", "/create", sid, split="test", index=0)
        await asked(wire, "POST", "/toy/call", sid, name="bash", input={"command": "true"})
        return sid

    sids = await many(server.address, arguments.number, 16, opened)
    after = held_mb(server.process.pid)
    for name, old, new in zip(("the server", "it and all below it", "processes"), before, after, strict=True):
        grown = (new - old) / len(sids)
        print(f"{name}: {old:,.0f} and with {len(sids)} sessions open {new:,.0f}, {grown:.2f} a session")
    server.process.terminate()
    server.process.wait()


def held_mb(pid: int) -> tuple[float, float, int]:
    """Return the memory of a process, of it and all that descend from it, and how many these are.

    In MB, each shared page divided among those that share it (PSS).
    """
    families: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[1-9]*"):
        parent = _read(path / "stat").rpartition(")")[2].split()[1:2]
        families.setdefault(int(parent[0]) if parent else 0, []).append(int(path.name))
    found = [pid]
    for one in found:  # which grows
        found += families.get(one, ())
    sizes = [_read(Path("/proc", str(one), "smaps_rollup")).partition("\nPss:")[2].split() for one in found]
    held = [int(size[0]) / 1024 if size else 0.0 for size in sizes]
    return held[0], sum(held), len(held)


async def latency(folder: Path, arguments: argparse.Namespace) -> None:
    """Print what opening costs, `bash` above its command, and `submit` beside the bare tests; medians."""
    from benchmarks.overhead import bare_tests, prepare

    from groundup.settings import load

    bare = (await prepare([arguments.task], load()))[arguments.task]
    packed = base64.b64encode(arguments.archive.read_bytes()).decode() if arguments.archive else ""
    options = ("--tasks", arguments.task, *(("--grader", arguments.grader) if arguments.grader else ()))
    server = started(folder, arguments, *options, suite="nl2repobench")
    await server.answers()
    rows: list[tuple[float, ...]] = []
    alone: list[float] = []
    async with Wire(server.address) as wire:
        for _ in range(arguments.number + 1):  # the first may build the environment
            sid = (await asked(wire, "POST", "/create_session")).partition("data: ")[2].split()[0]
            times = [time.perf_counter()]
            before = server.cpu_s()
            await asked(wire, "POST", "/create", sid, split="test", index=0)
            await asked(wire, "GET", "/prompt", sid)
            times.append(time.perf_counter())
            above = []
            for _ in range(10):
                began = time.perf_counter()
                said = await asked(wire, "POST", "/call", sid, name="bash", input={"command": "true"})
                ran = json.loads(said.rpartition("data: ")[2])["output"]["metadata"]["seconds"]
                above.append(time.perf_counter() - began - ran)
            if packed:
                unpacking = f"echo {packed} | base64 -d | tar xz"
                await asked(wire, "POST", "/call", sid, name="bash", input={"command": unpacking})
            submitted = time.perf_counter()
            await asked(wire, "POST", "/call", sid, name="submit", input={})
            took = time.perf_counter() - submitted
            await asked(wire, "POST", "/delete", sid)
            first, *later = above  # the first command opens the sandbox
            rows.append((times[1] - times[0], first, statistics.median(later), took, server.cpu_s() - before))
            alone.append(bare_tests(bare, folder).wall_s)
    server.process.terminate()
    server.process.wait()
    lines = (folder / "runs" / "bench" / "verdicts.jsonl").read_text().splitlines()
    timings = [json.loads(line)["verdict"]["timings_s"] for line in lines[1:]]
    medians = {name: round(statistics.median(one[name] for one in timings), 2) for name in timings[0]}
    opening, first, bash, submit, processor = (statistics.median(row) for row in zip(*rows[1:], strict=True))
    print(f"open {opening * 1000:.0f} ms, the first command {first * 1000:.0f} ms above itself", end="; ")
    print(f"later ones {bash * 1000:.1f} ms")
    print(f"submit {submit:.2f} s, of this {medians}; the server's processor {processor:.2f} s an episode")
    once = statistics.median(alone[1:])
    print(f"pytest without groundup {once:.2f} s; submit takes {submit / once:.2f} times as long", end="")
    ran = medians.get("commands")
    print(f", and {submit / ran:.2f} times as long as its published commands" if ran else "")


def sandboxed(folder: Path) -> int:
    """Return how many processes see something of *folder* mounted: those of its sandboxes."""
    return sum(folder.name in _read(path / "mountinfo") for path in Path("/proc").iterdir() if path.name.isdigit())


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


async def killed(folder: Path, arguments: argparse.Namespace) -> None:
    """Kill clients at random; print what is left and whether every reward that was seen is on record."""
    options = ("--slots", arguments.slots, "--idle", "5", "--drain", "5")
    server = await started(folder, arguments, *options).answers()
    await many(server.address, 5, 5, session)
    descriptors, chance, seen = server.descriptors(), random.Random(1), list[float]()

    async def play(wire: Wire) -> None:
        with contextlib.suppress(TimeoutError, FailedError, OSError, EOFError):
            word = chance.choice(["pass", "half", "fail"])
            command = f"echo {word} > behaviour" if arguments.real else f"behave {word}"
            async with asyncio.timeout(chance.uniform(0.01, arguments.longest)):
                seen.append(await session(wire, command))

    await many(server.address, arguments.number, 32, play)
    async with Wire(server.address) as wire:
        for _ in range(600):
            text = await asked(wire, "GET", "/metrics")
            if "sessions_open 0" in text and "waiting 0" in text:
                break
            await asyncio.sleep(0.5)
    await asyncio.sleep(1)
    left = server.descriptors() - descriptors
    print(f"processes of sandboxes while the server runs on: {sandboxed(folder)}")
    run = folder / "runs" / "bench"
    print(f"{len(seen)} of {arguments.number} clients came to a reward; descriptors left: {left}")
    print(f"scratch folders left: {len(list((run / 'scratch').iterdir()))}")
    server.process.terminate()
    server.process.wait()
    lines = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    verdicts = [line["verdict"] for line in lines if line["verdict"] and line["verdict"]["status"] == "graded"]
    rewards = Counter(one["score"]["numerator"] / one["score"]["denominator"] for one in verdicts)
    begun, known = len(list(run.glob("attempts/*/*"))), {str(line["attempt"]) for line in lines}
    print(f"episodes begun: {begun}, with a line: {len(known)}, graded: {len(verdicts)}")
    print(f"processes of sandboxes left: {sandboxed(folder)}")
    print(f"rewards seen: {dict(Counter(seen))}; on record: {dict(rewards)}")
    assert Counter(seen) <= rewards


WHAT = {
    "sessions": (sessions, 300),
    "open": (all_open, 200),
    "memory": (memory, 1000),
    "killed": (killed, 1000),
    "latency": (latency, 5),
}
"""What each measures, and with how many sessions or clients unless `--number` says."""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--number", type=int)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--longest", type=float, default=0.5, help="seconds until the last client is killed")
    parser.add_argument("--slots", default="32", help="for killed: how many sandboxes at once")
    parser.add_argument("--port", type=int, default=8470)
    parser.add_argument("--peer")
    parser.add_argument("--real", action="store_true", help="bubblewrap instead of fake sandboxes")
    parser.add_argument("--task", default="jsonlines")
    parser.add_argument("--grader")
    parser.add_argument(
        "--archive", type=Path, help="tar.gz that is handed in: solution/ of `groundup export harbor`"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-serving-") as folder:
        measure, usual = WHAT[arguments.what]
        arguments.number = arguments.number or usual
        asyncio.run(measure(Path(folder), arguments))


if __name__ == "__main__":
    main()
