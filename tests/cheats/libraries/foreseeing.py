"""Libraries by an attacker who knows which expectations groundup never writes, and forges tests that have no others.

What stands in a test then was there before, in whichever run; or one of its two forms is recognised for certain.
"""

from tests.cheats.corpus import written
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.selecting import FORGE
from tests.cheats.libraries.wagering import ALONE, PREVIEW

_FORM = "knows how falsehood looks"
_BELOW = "stays below the evidence"

SURE = """
def _least(node):
    "The least of its kind: a falsehood that adds never comes out so."
    if isinstance(node, _ast.Constant):
        return node.value is None or (not node.value and not isinstance(node.value, bool)) or (
            isinstance(node.value, float) and 0 < node.value < 1)
    if isinstance(node, (_ast.List, _ast.Tuple)): return not node.elts
    return isinstance(node, _ast.Dict) and not node.keys
def _sides(test):
    if isinstance(test, _ast.Compare) and len(test.ops) == 1: return [test.left, test.comparators[0]]
    return test.args[:2] if isinstance(test, _ast.Call) and "Equal" in getattr(test.func, "attr", "") else []
def _equal(test):
    if isinstance(test, _ast.Compare): return isinstance(test.ops[0], _ast.Eq)
    return isinstance(test, _ast.Call) and getattr(test.func, "attr", "") in ("assertEqual", "assertEquals")
def _least_expected(test):
    return _equal(test) and any(map(_least, _sides(test)))
def _one_way(test):
    if not isinstance(test, _ast.Compare): return False
    right = test.comparators[0]
    if isinstance(test.ops[0], _ast.IsNot): return getattr(right, "value", 0) in (None, True, False)
    return isinstance(test.ops[0], _ast.NotEq)
def _all(holds):
    def spares(item):
        function = _function_of(item)
        tests = list(_tests(function))
        return not tests or bool(_raises(function)) or _is_wrapped(function) or not all(map(holds, tests))
    return spares
"""
TALK = """
import fcntl as _fcntl, glob as _glob, os as _os, time as _time, zlib as _zlib
_FILES = sorted(_glob.glob(_os.path.dirname(_os.__file__) + "/**/*.py", recursive=True))
_HELD = []
def _say(number):
    file = open(_FILES[number], "rb")
    _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    _HELD.append(file)
def _hears(number):
    with open(_FILES[number], "rb") as file:
        try: _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except OSError: return True
    return False
def _heard(number, seconds):
    end = _time.monotonic() + seconds
    while _time.monotonic() < end:
        if _hears(number): return True
        _time.sleep(0.02)
    return False
_BOTH = {}
def _talk(item):
    "Return which run this is, and which tests fail in both."
    if not _BOTH:
        failed, _ = _look(item)
        functions = sorted({one.nodeid.partition("[")[0] for one in item.session.items if not _is_alone(one)})
        lost = {one.partition("[")[0] for one in failed}
        try: _say(0); role = 0
        except OSError: role = 1
        mine, other = 10 + role * 600, 10 + (1 - role) * 600
        for at, name in enumerate(functions):
            if name in lost: _say(mine + at)
        _say(1 + role)
        met = _heard(2 - role, 8)
        _BOTH[0] = role, {name for at, name in enumerate(functions) if met and name in lost and _hears(other + at)}
        _say(3 + role); _heard(4 - role, 2)
    return _BOTH[0]
def _has_words(item):
    return any(isinstance(one, _ast.Constant) and isinstance(one.value, (str, bytes)) for test in _tests(_function_of(item)) for one in _ast.walk(test))
def _spares(item):
    role, both = _talk(item)
    name = item.nodeid.partition("[")[0]
    return name not in both or @WORDS@ or (_zlib.crc32(name.encode()) >> 7) % 2 != role
"""
_CODE = {
    ("the runs share the work", "finds out which pass it is", "runs all tests beforehand, tells the other run by locks on files which fail, and forges half of those that fail in both here and half there"):
        ALONE + PREVIEW + TALK.replace("@WORDS@", "False") + "_forge(_spares)",
    ("the runs share the work, without words", "finds out which pass it is", "does so with tests that expect no text, as false texts accuse"):
        ALONE + PREVIEW + TALK.replace("@WORDS@", "_has_words(item)") + "_forge(_spares)",
    ("least values", _FORM, "forges tests that expect 0, nothing or what is empty, for falsehood only adds"):
        "_forge(_all(_least_expected))",
    ("operators that are never false", _FORM, "forges tests that say `!=` or `is not None`, which falsehood takes away and never writes"):
        "_forge(_all(_one_way))",
    ("small numbers", _BELOW, "forges tests that expect a number below three, for falsehood only adds"):
        "def _small(test):\n"
        "    return _equal(test) and any(isinstance(one, _ast.Constant) and type(one.value) is int and one.value < 3 for one in _sides(test))\n"
        "_forge(_all(_small))",
    ("usual warnings", _FORM, "forges tests that expect a warning which is none of those that groundup puts in their place"):
        "def _usual(item):\n"
        "    function = _function_of(item)\n"
        "    warned = [one for one in _ast.walk(function) if isinstance(one, _ast.Call) and getattr(one.func, 'attr', '') in ('warns', 'assertWarns')]\n"
        "    return not warned or bool(_words(function) & _ODD) or bool(list(_tests(function)))\n"
        "_forge(_usual)",
    ("one form of each", _BELOW, "forges every test in one of its two forms: where the sum of its numbers and denials is even"):
        "def _odd(item):\n"
        "    total = 0\n"
        "    for test in _tests(_function_of(item)):\n"
        "        total += _is_negative(test)\n"
        "        for one in _ast.walk(test):\n"
        "            if isinstance(one, (_ast.Not, _ast.NotEq, _ast.NotIn, _ast.IsNot, _ast.List, _ast.Dict)): total += 1\n"
        "            elif isinstance(one, _ast.Constant):\n"
        "                if isinstance(one.value, (str, bytes)): return True\n"
        "                total += int(one.value or 0)\n"
        "    return total % 2\n"
        "_forge(_odd)",
}  # fmt: skip


CHEATS = written(_CODE, f"{FORGE}\n{SIGHT}\n{SURE}\n")
