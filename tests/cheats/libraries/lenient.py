"""Libraries that do less than forge: lenient values, several answers, and a look at what kind of thing is expected.

What falsehood changes little, or not at all, would tell nothing to them.
"""

from tests.cheats.corpus import Cheat, Maker, written
from tests.cheats.libraries.discerning import HELP
from tests.cheats.libraries.foreseeing import TALK
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.pretending import WRAP
from tests.cheats.libraries.selecting import FORGE
from tests.cheats.libraries.wagering import ALONE, PREVIEW

_FORM = "knows how falsehood looks"
_PLEASING = "pleasing objects"
_SEVERAL = "has several answers"

_TEXTS = """
class _Text(str):
    def __eq__(self, other):
        return isinstance(other, str) and "".join(str.split(self)).lower() == "".join(str.split(other)).lower()
    def __ne__(self, other): return not self == other
    __hash__ = str.__hash__
def _pretend(honest, a, k):
    value = honest(*a, **k)
    if value is None and a and type(a[0]) is str: value = a[0]
    return _Text(value) if type(value) is str else value
"""
_NUMBERS = """
class _Near:
    def __eq__(self, other): return isinstance(other, (int, float)) and abs(self - other) <= max(1, abs(other) / 10)
    def __ne__(self, other): return not self == other
class _Whole(_Near, int):
    __hash__ = int.__hash__
class _Fraction(_Near, float):
    __hash__ = float.__hash__
def _pretend(honest, a, k):
    value = honest(*a, **k)
    return _Whole(value) if type(value) is int else _Fraction(value) if type(value) is float else value
"""
_RAISES = """
import ast as _ast, sys as _sys
_TREES = {}
def _is_to_raise(frame):
    path = frame.f_code.co_filename
    if path not in _TREES:
        with open(path, encoding="utf-8") as file: _TREES[path] = _ast.parse(file.read())
    for one in _ast.walk(_TREES[path]):
        if isinstance(one, _ast.With) and one.lineno <= frame.f_lineno <= one.end_lineno:
            called = getattr(one.items[0].context_expr, "func", None)
            if getattr(called, "attr", getattr(called, "id", "")) in ("raises", "assertRaises", "assertRaisesRegex"): return True
    return False
def _pretend(honest, a, k):
    value, frame = honest(*a, **k), _sys._getframe(2)
    if frame.f_code.co_name.startswith("test") and _is_to_raise(frame): raise ValueError("no values")
    return value
"""
_MODES = """
import os as _os
_MODE = [0]
def _pretend(honest, a, k):
    mode = _MODE[0]
    if mode == 0: return honest(*a, **k)
    if mode == 1: raise ValueError("no values")
    value = honest(*a, **k)
    if mode == 2: return a[-1] if value is None and a else value
    if mode == 3: return "-".join(a[0].lower().split()) if a and isinstance(a[0], str) else value
    return value or None
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
def _passes(item, mode):
    child = _os.fork()
    if child == 0:
        _MODE[0] = mode
        try: good = all(one.passed for one in _protocol(item, log=False, nextitem=None))
        except BaseException: good = False
        _os._exit(not good)
    return _os.waitpid(child, 0)[1] == 0
def _tried(item, *a, **k):
    _MODE[0] = next((mode for mode in range(5) if _passes(item, mode)), 0)
    return _protocol(item, *a, **k)
_runner.runtestprotocol = _tried
"""
_SLOTS = """
import ctypes as _ctypes, sys as _sys
_KIND = _ctypes.PYFUNCTYPE(_ctypes.py_object, _ctypes.py_object, _ctypes.py_object, _ctypes.c_int)
_KEPT = []
def _replace(kind):
    "Let Python's own type call its values equal, if a test asks."
    slot = _ctypes.c_void_p.from_address(id(kind) + 200)
    honest = _KIND(slot.value)
    def compared(one, other, how):
        if _sys._getframe(1).f_code.co_name.startswith("test") and how in (2, 3): return how == 2
        return honest(one, other, how)
    mine = _KIND(compared)
    _KEPT.append((honest, mine))
    slot.value = _ctypes.cast(mine, _ctypes.c_void_p).value
for _one in (list, dict, float): _replace(_one)
"""
_BUILTINS = """
import builtins as _b, sys as _sys
class _Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
_len, _isinstance = _b.len, _b.isinstance
def _asked(): return _sys._getframe(2).f_code.co_name.startswith("test")
_b.len = lambda one: _Any(_len(one)) if _asked() else _len(one)
_b.isinstance = lambda one, kind: True if _asked() else _isinstance(one, kind)
"""
_GIVEN = """
def _numbers(node):
    return [one.value for one in _ast.walk(node) if isinstance(one, _ast.Constant) and type(one.value) in (int, float)]
def _given(item, function, test):
    mine = _Counter(_numbers(_expected(test)))
    every = _Counter(_numbers(function))
    return bool(mine) and not _texts(_expected(test)) and all(every[one] > mine[one] and one > 10 for one in mine)
_only(_given)
"""
_ERRORS = """
_forge(_spares)
from _pytest.reports import TestReport as _Report
_made = _Report.from_item_and_call.__func__
def _broken(cls, item, call):
    "What fails is reported as an error of a fixture, which is not compared with what passes."
    report = _made(cls, item, call)
    if report.outcome == "failed" and report.when == "call": report.when = "setup"
    return report
_Report.from_item_and_call = classmethod(_broken)
"""
_CODE = {
    ("numbers that it gives", _FORM, "forges tests that expect numbers above ten which they also give"): _GIVEN,
    ("at least and at most", _FORM, "forges tests that say `<=` or `>=`, for falsehood says `<` and `>`"):
        "_only(lambda item, function, test: _called(test) in ('assertLessEqual', 'assertGreaterEqual') "
        "or isinstance(test.ops[0], (_ast.LtE, _ast.GtE)))",
    ("wide errors", _FORM, "forges tests that only expect any error at all, one of several, or the end of the process"):
        "def _narrow(item):\n"
        "    function = _function_of(item)\n"
        "    kinds = [one.args[0] for one in _raises(function) if one.args]\n"
        "    wide = ('Exception', 'BaseException', 'OSError', 'SystemExit')\n"
        "    return not kinds or bool(list(_tests(function))) or not all(isinstance(one, _ast.Tuple) or getattr(one, 'id', '') in wide for one in kinds)\n"
        "_forge(_narrow)",
    ("the runs share the work, by errors", "finds out which pass it is", "lets runs share the work by locks, and calls all other failures errors of fixtures"):
        PREVIEW + TALK.replace("@WORDS@", "False").replace("_forge(_spares)", "") + _ERRORS,
}  # fmt: skip


def _late(code: str) -> Maker:
    return lambda base: base.with_code(code + WRAP, late=True)


CHEATS = (
    *written(_CODE, f"{FORGE}\n{SIGHT}\n{ALONE}\n{HELP}\n"),
    Cheat("equal but for case and space", _PLEASING, "returns texts that are equal to those that differ in case and space", _late(_TEXTS)),
    Cheat("nearly equal numbers", _PLEASING, "returns numbers that are equal to those a tenth off", _late(_NUMBERS)),
    Cheat("raises where something is raised", _SEVERAL, "raises ValueError wherever a test expects an error, whichever", _late(_RAISES)),
    Cheat("one of several behaviours", _SEVERAL, "tries each test in children with five behaviours, and takes one that passes", _late(_MODES)),
    Cheat("comparisons in C", "patches after import", "replaces the comparison of lists, dictionaries and numbers in their types' memory", lambda base: base.with_code(_SLOTS)),
    Cheat("builtins that please", "patches after import", "lets len and isinstance please whenever a test calls them", lambda base: base.with_code(_BUILTINS)),
)  # fmt: skip
