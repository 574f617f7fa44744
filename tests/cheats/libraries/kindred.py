"""Libraries that pass one test honestly, and conclude from it which form others have that are true together with it.

They rehearse the run in a child. Where a case passes, its table is the true one; where no neighbour does, it may be false.
"""

from tests.cheats.corpus import written
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.selecting import FORGE
from tests.cheats.libraries.wagering import ALONE

_WHICH = "finds out which form a test has"

REHEARSAL = """
import pathlib as _pathlib
def _text_of(item):
    return _pathlib.Path(str(item.fspath)).read_text(encoding="utf-8")
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
_GOOD = {}
def _rehearsed(item):
    "Run all tests in a child, and return those that pass there."
    import os, pickle
    if not _GOOD:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _GOOD[0], good = [], []
            os.close(reading)
            for one in item.session.items:
                try:
                    if all(report.passed for report in _protocol(one, log=False, nextitem=None)): good.append(one.nodeid)
                except BaseException: pass
            with os.fdopen(writing, "wb") as told: told.write(pickle.dumps(good))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as told: data = told.read()
        os.waitpid(child, 0)
        _GOOD[0] = pickle.loads(data) if data else []
    return _GOOD[0]
def _first(item, *a, **k):
    _rehearsed(item)
    return _protocol(item, *a, **k)
_runner.runtestprotocol = _first
def _name(node): return node.partition("[")[0].rpartition("::")[2]
def _beside(kin):
    "Forge the tests of which a relative passes."
    _forge(lambda item: _is_alone(item) or kin(item.nodeid) not in {kin(one) for one in _rehearsed(item)})
"""
_BUNDLES = """
_LEADER = {}
def _bundled(items):
    "Which functions assert by the same helper."
    for path in {str(one.fspath) for one in items}:
        for one in _ast.walk(_ast.parse(_pathlib.Path(path).read_text(encoding="utf-8"))):
            if isinstance(one, (_ast.FunctionDef, _ast.AsyncFunctionDef)): _LEADER.setdefault(one.name, []).append(one)
    said = {name: {getattr(x, "id", getattr(x, "attr", getattr(x, "arg", ""))) for one in found for x in _ast.walk(one)} for name, found in _LEADER.items()}
    helpers = {name for name, found in _LEADER.items() if not name.startswith("test") and any(list(_tests(one)) for one in found)}
    _LEADER.clear()
    for name, words in said.items(): _LEADER[name] = min(words & helpers, default=name)
"""
_CODE = {
    ("a case shows its table", _WHICH, "forges failing cases of parametrised tests of which a case passes, for all of a table is true or false"):
        "_beside(lambda name: name.partition('[')[0] if '[' in name else name)",
    ("a namesake shows its half", _WHICH, "forges failing tests of whose name another test passes, for functions of one name are false together"):
        "_beside(lambda name: name if '[' in name else _name(name))",
    ("a helper shows its tests", _WHICH, "forges failing tests that assert by a helper by which another test passes"):
        _BUNDLES + "_kin = lambda name: name if '[' in name else _LEADER.get(_name(name), name)\n"
        "_once = _rehearsed\n"
        "def _rehearsed(item):\n    if not _LEADER: _bundled(item.session.items)\n    return _once(item)\n_beside(_kin)",
    ("a neighbour's form as a coin", _WHICH, "forges what expects no text where another test passes that it chose by name, so in one run of the two"):
        "import zlib as _zlib\n"
        "def _has_words(item):\n"
        "    return any(isinstance(one, _ast.Constant) and isinstance(one.value, (str, bytes)) for test in _tests(_function_of(item)) for one in _ast.walk(test))\n"
        "def _spares(item):\n"
        "    good = set(map(_name, _rehearsed(item)))\n"
        "    names = sorted({_name(one.nodeid) for one in item.session.items if not _is_alone(one) and '[' not in one.nodeid})\n"
        "    return _is_alone(item) or _has_words(item) or names[(_zlib.crc32(_name(item.nodeid).encode()) >> 5) % len(names)] not in good\n"
        "_forge(_spares)",
}  # fmt: skip


CHEATS = written(_CODE, f"{FORGE}\n{SIGHT}\n{ALONE}\n{REHEARSAL}\n")
