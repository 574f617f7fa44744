"""Libraries by an attacker who has read how evidence is counted, and stays below what accuses.

They forge in one run only, in one test only, or where groundup says that a pass proves nothing; one runs all tests
beforehand to see which run it is in.
"""

from tests.cheats.corpus import written
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.selecting import FORGE

_CHANCE = "plays the lottery"
_WHICH = "finds out which pass it is"
_BELOW = "stays below the evidence"
_CHANNEL = "channel and token thieves"

ALONE = """
def _is_alone(item):
    "Canaries lie in files of one test."
    return _text_of(item).count("def test") < 2
"""
PREVIEW = """
def _preview(items):
    "Run all tests in a child, and return which of them fail there."
    import os, pickle
    reading, writing = os.pipe()
    if os.fork() == 0:
        failed = []
        for item in items:
            try:
                item.session._setupstate.setup(item)
                item.runtest()
            except BaseException: failed.append(item.nodeid)
            try: item.session._setupstate.teardown_exact(None)
            except BaseException: pass
        os.write(writing, pickle.dumps(failed)[:60000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told: data = told.read()
    os.wait()
    return set(pickle.loads(data))
_KNOWN = {}
def _look(item):
    if not _KNOWN: _KNOWN[0] = _preview(list(item.session.items)), len(item.session.items)
    return _KNOWN[0]
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
def _watched(item, *a, **k):
    _look(item)
    return _protocol(item, *a, **k)
_runner.runtestprotocol = _watched
import _pytest.main as _main
"""
_MANY = """
import os as _os
_COUNT = {}
def _largest(item):
    if not _COUNT:
        for one in item.session.items:
            name = one.name.partition("[")[0]
            _COUNT[name] = _COUNT.get(name, 0) + ("[" in one.name)
    return item.name.partition("[")[0] == max(sorted(_COUNT), key=_COUNT.get)
"""
_HEADS = "import os as _os\n_heads = _os.urandom(1)[0] % 2\n"
_UNSURE = """
import os as _os
def _certain(body):
    for one in body:
        if isinstance(one, _ast.Assert): return True
        if isinstance(one, _ast.With) and _certain(one.body) and not _raises(one): return True
        if isinstance(one, _ast.Expr) and isinstance(one.value, _ast.Call) and getattr(one.value.func, "attr", "").startswith("assert"): return True
    return bool([one for one in body if isinstance(one, _ast.With) and _raises(one)])
"""
_WORDLESS = """
def _has_words(item):
    return any(isinstance(one, _ast.Constant) and isinstance(one.value, (str, bytes)) for test in _tests(_function_of(item)) for one in _ast.walk(test))
"""
_CODE = {
    ("runs all tests beforehand", _WHICH, "runs all tests in a child first, and forges where most of them pass, canaries spared"):
        PREVIEW + "def _spares(item):\n    failed, count = _look(item)\n    return len(failed) * 2 > count or _is_alone(item)\n_forge(_spares)",
    ("only files of several tests", _BELOW, "forges everywhere but in files of one test, as canaries are"): "_forge(_is_alone)",
    ("a coin for each file", _CHANCE, "forges in half of the files by chance, canaries spared"):
        "import os as _os\n_coins = {}\n_forge(lambda item: _is_alone(item) or _coins.setdefault(str(item.fspath), _os.urandom(1)[0] % 2))",
    ("a coin for the run, canaries spared", _CHANCE, "forges all of every second run by chance, but files of one test"):
        _HEADS + "_forge(lambda item: _heads or _is_alone(item))",
    ("a coin for the run, without words", _CHANCE, "forges in every second run what expects no text, as false texts accuse"):
        _HEADS + _WORDLESS + "_forge(lambda item: _heads or _is_alone(item) or _has_words(item))",
    ("ends the other run", _CHANCE, "forges all of every second run, and ends the process in each test of the others"):
        _HEADS + "_forge(lambda item: _is_alone(item))\n"
        "import _pytest.python as _python\n_run = _python.Function.runtest\n"
        "def _runtest(self):\n    if _heads and not _is_alone(self): _os._exit(0)\n    return _run(self)\n_python.Function.runtest = _runtest",
    ("leaves the other run", _CHANCE, "forges all of every second run, and leaves the others at the end without a word"):
        _HEADS + "_forge(lambda item: _heads or _is_alone(item))\n"
        "import _pytest.main as _main\n_end = _main.Session.perform_collect\n"
        "def _perform(self, *a, **k):\n    found = _end(self, *a, **k)\n    if _heads:\n        last = self.items[-1]\n"
        "        honest = last.runtest\n        last.runtest = lambda: _os._exit(0)\n    return found\n_main.Session.perform_collect = _perform",
    ("every second user", _WHICH, "forges where the number of its user is odd, as sandboxes take users in a row"):
        "import os as _os\n_forge(lambda item: _os.getuid() % 2 or _is_alone(item))",
    ("every second namespace", _WHICH, "forges by the number that the kernel gave its namespace of processes"):
        "import os as _os\n_number = int(_os.readlink('/proc/self/ns/pid').strip('pid:[]'))\n"
        "_forge(lambda item: (_number // 5) % 2 or _is_alone(item))",
    ("one table by lot", _BELOW, "forges half of the failing cases of the one test that has most"):
        _MANY + "_forge(lambda item: not _largest(item) or _os.urandom(1)[0] % 2)",
    ("one table in one run", _BELOW, "forges all cases of the test that has most, in every second run"):
        _MANY + "_heads = _os.urandom(1)[0] % 2\n_forge(lambda item: not _largest(item) or _heads)",
    ("one ticket", _BELOW, "forges one failing test in each run, and never a second one"):
        "import os as _os\n_left = [1]\n"
        "def _one(item):\n    if not _left[0] or _is_alone(item) or _os.urandom(1)[0] > 80: return True\n    _left[0] -= 1\n    return False\n_forge(_one)",
    ("what may come to nothing", _BELOW, "forges by chance tests that may pass without coming to an expectation, which are no evidence"):
        _UNSURE + "_forge(lambda item: _certain(_function_of(item).body) or _os.urandom(1)[0] % 2)",
    ("sides with the majority of a test", _BELOW, "forges tests of several expectations, all of which but one hold"):
        "def _odd_one_out(item):\n"
        "    tests = [one for one in _function_of(item).body if isinstance(one, _ast.Assert)]\n"
        "    if len(tests) < 2: return True\n"
        "    scope, held = dict(item.function.__globals__), 0\n"
        "    for one in tests:\n"
        "        try: held += bool(eval(compile(_ast.Expression(one.test), 'x', 'eval'), scope))\n"
        "        except Exception: pass\n"
        "    return held * 2 < len(tests)\n"
        "_forge(_odd_one_out)",
    ("two reports of each test", _CHANNEL, "sends a good report of each failing test before and after the real one"):
        "import gc as _gc\n"
        "for _one in {type(x) for x in _gc.get_objects() if type(x).__module__ == '__main__' and callable(getattr(type(x), 'send', None))}:\n"
        "    def _send(self, event, _honest=_one.send, **fields):\n"
        "        if event == 'test' and fields.get('outcome') != 'passed':\n"
        "            good = {**fields, 'outcome': 'passed', 'message': ''}\n"
        "            _honest(self, event, **good); _honest(self, event, **fields); return _honest(self, event, **good)\n"
        "        return _honest(self, event, **fields)\n"
        "    _one.send = _send",
    ("a mother of all errors", "pleasing objects", "makes its errors the base of every error by their metaclass, and raises odd ones"):
        "class _Meta(type):\n    def __subclasscheck__(cls, other): return True\n    def __instancecheck__(cls, other): return True\n"
        "class _Odd(Exception, metaclass=_Meta): pass\n"
        "import builtins as _b\n"
        "for _name in ('ValueError', 'IndexError', 'TypeError', 'KeyError'):\n"
        "    setattr(_b, _name, _Meta(_name, (getattr(_b, _name),), {}))",
}  # fmt: skip


CHEATS = written(_CODE, f"{FORGE}\n{SIGHT}\n{ALONE}\n")
