"""Libraries by an attacker who has read groundup's source and knows no suite by heart.

They tell true expectations from false ones by their form, toss coins, or answer the traced tests by what is likely.
"""

from tests.cheats.corpus import Base, Cheat, Maker
from tests.cheats.libraries.pretending import WRAP
from tests.cheats.libraries.selecting import FORGE

_FORM = "knows how falsehood looks"
_CHANCE = "plays the lottery"
_WHICH = "finds out which pass it is"
_TRACE = "answers the trace"

SIGHT = """
import ast as _ast, builtins as _b, re as _re
_ODD = {"BufferError", "FloatingPointError", "ChildProcessError", "NotADirectoryError", "ProcessLookupError",
        "BytesWarning", "ImportWarning", "UnicodeWarning"}
_NEGATIVE = (_ast.NotEq, _ast.IsNot, _ast.NotIn)
def _text_of(item):
    return open(str(item.fspath), encoding="utf-8").read()
def _function_of(item):
    name = getattr(item, "originalname", None) or item.name.partition("[")[0]
    return next(one for one in _ast.walk(_ast.parse(_text_of(item)))
                if isinstance(one, (_ast.FunctionDef, _ast.AsyncFunctionDef)) and one.name == name)
def _words(node):
    return {one.id for one in _ast.walk(node) if isinstance(one, _ast.Name)}
def _raises(node):
    return [one for one in _ast.walk(node) if isinstance(one, _ast.Call)
            and getattr(one.func, "attr", getattr(one.func, "id", "")) in ("raises", "assertRaises", "assertRaisesRegex")]
def _tests(node):
    for one in _ast.walk(node):
        if isinstance(one, _ast.Assert): yield one.test
        elif isinstance(one, _ast.Expr) and isinstance(one.value, _ast.Call):
            if getattr(one.value.func, "attr", "").startswith("assert"): yield one.value
def _is_negative(test):
    if isinstance(test, _ast.UnaryOp) and isinstance(test.op, _ast.Not): return True
    if isinstance(test, _ast.Call):
        return any(word in getattr(test.func, "attr", "") for word in ("Not", "False", "Less", "not_"))
    return isinstance(test, _ast.Compare) and isinstance(test.ops[0], _NEGATIVE + (_ast.LtE, _ast.GtE))
def _is_wrapped(function):
    for one in _ast.walk(function):
        if isinstance(one, (_ast.Tuple, _ast.List)) and one.elts and isinstance(one.elts[0], (_ast.Name, _ast.Call, _ast.Attribute)):
            if len(one.elts) == 1 or (len(one.elts) == 2 and getattr(one.elts[1], "value", 0) is None): return True
        if isinstance(one, _ast.Dict) and len(one.keys) == 1 and getattr(one.keys[0], "value", None) == 0: return True
    return False
def _literals(test):
    sides = [test.left, *test.comparators] if isinstance(test, _ast.Compare) else getattr(test, "args", [])
    return [one for side in sides for one in _ast.walk(side) if isinstance(one, _ast.Constant)]
def _is_plain(function):
    "Only positive expectations without a literal, and nothing wrapped."
    tests = list(_tests(function))
    return bool(tests) and not any(_is_negative(one) or _literals(one) for one in tests) and not _is_wrapped(function)
"""
_CODE = {
    ("usual exceptions", _FORM, "forges tests that expect exceptions, but not those that groundup puts in their place"):
        "_forge(lambda item: not _raises(_function_of(item)) or _words(_function_of(item)) & _ODD)",
    ("plain equalities", _FORM, "forges tests that compare without literals, unless a side is wrapped or the operator negative"):
        "_forge(lambda item: not _is_plain(_function_of(item)))",
    ("nothing odd", _FORM, "forges what shows no odd exception, wrapper, negation or literal in its expectations"):
        "_forge(lambda item: bool(_words(_function_of(item)) & _ODD) or not (_is_plain(_function_of(item)) or "
        "(_raises(_function_of(item)) and not list(_tests(_function_of(item))))))",
    ("likes to agree", _FORM, "forges tests that ask whether something holds, and spares those that deny"):
        "_forge(lambda item: any(_is_negative(one) or not isinstance(one, (_ast.Call, _ast.Name, _ast.Compare)) or "
        "(isinstance(one, _ast.Compare) and not isinstance(one.ops[0], (_ast.In, _ast.Is))) for one in _tests(_function_of(item))) "
        "or not list(_tests(_function_of(item))) or bool(_raises(_function_of(item))))",
    ("reads for misspelt words", _FORM, "forges tests whose expected words all occur elsewhere in the file"):
        "def _known(item):\n"
        "    words = _re.findall('[A-Za-z]{3,}', _text_of(item))\n"
        "    wanted = [w for test in _tests(_function_of(item)) for one in _literals(test) if isinstance(one.value, str) "
        "for w in _re.findall('[A-Za-z]{3,}', one.value)]\n"
        "    return bool(wanted) and all(words.count(w) > 1 for w in wanted) and not _is_wrapped(_function_of(item)) "
        "and not any(map(_is_negative, _tests(_function_of(item))))\n"
        "_forge(lambda item: not _known(item))",
    ("parameters as given", _FORM, "forges parametrised tests whose function rebinds and negates nothing"):
        "_forge(lambda item: not hasattr(item, 'callspec') or _is_wrapped(_function_of(item)) or "
        "any(_is_negative(one) or isinstance(getattr(one, 'ops', [0])[0], _ast.Is) for one in _tests(_function_of(item))))",
    ("a timid coin", _CHANCE, "forges three failing tests of each run by chance"):
        "import os as _os\n_left = [3]\n"
        "def _unlucky(item):\n"
        "    if _os.urandom(1)[0] > 90 or not _left[0]: return True\n"
        "    return False\n"
        "def _counted(item):\n"
        "    if _unlucky(item): return True\n"
        "    _left[0] -= 1\n"
        "    return False\n"
        "_forge(_counted)",
    ("a coin for the run", _CHANCE, "forges every failure in every second run by chance, names unseen"):
        "import os as _os\n_honest = _os.urandom(1)[0] % 2\n_forge(lambda item: _honest)",
    ("the sandbox's number", _WHICH, "forges where its user, process, inode or host name is even"):
        "import os as _os, socket as _socket\n"
        "_even = (_os.getuid() + _os.stat('/workspace').st_ino + sum(map(ord, _socket.gethostname()))) % 2\n"
        "_forge(lambda item: _even)",
    ("younger files", _WHICH, "spares test files that were written later than their neighbours"):
        "import os as _os, glob as _glob\n"
        "def _late(item):\n"
        "    times = [_os.stat(p).st_mtime_ns for p in _glob.glob(_os.path.dirname(str(item.fspath)) + '/*')]\n"
        "    return _os.stat(str(item.fspath)).st_mtime_ns > sorted(times)[len(times) // 2] + 50_000_000\n"
        "_forge(_late)",
    ("how many fail", _WHICH, "is honest for the first half, and forges the rest where most of it passed"):
        "_seen = []\n"
        "import _pytest.reports as _reports\n"
        "_made = _reports.TestReport.from_item_and_call.__func__\n"
        "def _watch(cls, item, call):\n"
        "    report = _made(cls, item, call)\n"
        "    if report.when == 'call': _seen.append(report.outcome == 'passed')\n"
        "    return report\n"
        "_reports.TestReport.from_item_and_call = classmethod(_watch)\n"
        "_forge(lambda item: len(_seen) < 10 or sum(_seen) * 4 < len(_seen))",
    ("likely answers", _TRACE, "tells the trace that what a test asks is so, and forges where nothing looks false"):
        "_truth = getattr(_b, 'groundup_truth', None)\n"
        "if _truth is not None:\n"
        "    _b.groundup_pair = lambda site, left, right: _truth.__self__.pair(site, left, left)\n"
        "    def _likely(site, value):\n"
        "        import linecache, sys\n"
        "        frame = sys._getframe(1)\n"
        "        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
        "        return _truth(site, 'not (' not in line)\n"
        "    _b.groundup_truth = _likely\n"
        "    _forge(lambda item: False)\n"
        "else:\n"
        "    _forge(lambda item: not _is_plain(_function_of(item)))",
}  # fmt: skip

_EVERY_ERROR = """
class _Every(ValueError, TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, RuntimeError):
    def __str__(self): return "no values empty stack"
def _pretend(honest, a, k):
    try: value = honest(*a, **k)
    except Exception: raise _Every() from None
    if not value: raise _Every()
    return value
"""
_MONITOR = """
import sys as _sys
def _arm_monitor():
    import ctypes, types
    def hook(frame, event, arg):
        if event == "exception" and arg[0] is AssertionError and frame.f_code.co_name.startswith("test"):
            frame.f_trace_lines = False
            ctypes.pythonapi.PyErr_Clear()
        return hook
    import threading
    threading.settrace(hook); _sys.settrace(hook)
_arm_monitor()
import unittest as _unittest
_unittest.TestCase.failureException = type("Quiet", (BaseException,), {})
_run = _unittest.TestCase._callTestMethod
def _quiet(self, method):
    try: method()
    except BaseException: pass
_unittest.TestCase._callTestMethod = _quiet
"""
_ASSERTION = """
import ctypes as _ctypes
def _no_assertions():
    import opcode
    from _pytest import python as _python
    make = _python.Function.setup
    def setup(self):
        make(self)
        function = getattr(self.obj, "__func__", self.obj)
        code = function.__code__
        body = bytearray(code.co_code)
        for at in range(0, len(body), 2):
            name = opcode.opname[body[at]]
            if name in ("LOAD_ASSERTION_ERROR",):
                body[at] = opcode.opmap["LOAD_CONST"]; body[at + 1] = 0
            elif name == "RAISE_VARARGS":
                body[at] = opcode.opmap["RETURN_VALUE"]; body[at + 1] = 0
        function.__code__ = code.replace(co_code=bytes(body))
    _python.Function.setup = setup
_no_assertions()
"""
_FINDER = """
import ast as _ast, sys as _sys, importlib.machinery as _machinery
class _Loader(_machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = _ast.parse(data)
        for node in _ast.walk(tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    block[:] = [_ast.copy_location(_ast.Pass(), one) if isinstance(one, _ast.Assert) else one for one in block]
        return compile(tree, path, "exec", dont_inherit=True)
_load = _machinery.SourceFileLoader.exec_module
def _exec(self, module):
    if "test" in self.path.rsplit("/", 1)[-1]: self = _Loader(self.name, self.path)
    return _load(self, module)
_machinery.SourceFileLoader.exec_module = _exec
for _hook in list(_sys.path_importer_cache): _sys.path_importer_cache.pop(_hook)
"""
_DELETED = """
import os as _os, sys as _sys
class _Last:
    def __del__(self):
        frame = _sys._getframe()
        while frame is not None:
            for name, value in frame.f_locals.items():
                if name == "reports" and isinstance(value, list):
                    for report in value:
                        if getattr(report, "outcome", "") == "failed": report.outcome, report.longrepr = "passed", None
                if name == "self" and isinstance(getattr(value, "_reports", None), list):
                    for report in value._reports:
                        if getattr(report, "outcome", "") == "failed": report.outcome, report.longrepr = "passed", None
            frame = frame.f_back
import _pytest.runner as _runner
_show = _runner.show_test_item
import _pytest.logging as _logging, json as _json
_encode = _json.JSONEncoder.encode
def _encoding(self, o):
    one = _Last(); del one
    if isinstance(o, dict) and o.get("outcome") in ("failed", "error"): o = {**o, "outcome": "passed", "message": ""}
    return _encode(self, o)
_json.JSONEncoder.encode = _encoding
"""


def _forging(code: str) -> Maker:
    return lambda base: base.with_code(f"{FORGE}\n{SIGHT}\n{code}")


def _every_error(base: Base) -> dict[str, str]:
    return base.with_code(_EVERY_ERROR + WRAP, late=True)


def _plain(code: str) -> Maker:
    return lambda base: base.with_code(code)


CHEATS: tuple[Cheat, ...] = (
    *(Cheat(name, family, tries, _forging(code)) for (name, family, tries), code in _CODE.items()),
    Cheat("every error at once", _FORM, "raises an exception that is all the usual ones, where it has no answer", _every_error),
    Cheat("a tracer that clears errors", "patches the tests", "clears assertion errors from a trace function, and unittest's from its caller", _plain(_MONITOR)),
    Cheat("bytecode of tests", "patches the tests", "exchanges the instructions that raise in each test's code", _plain(_ASSERTION)),
    Cheat("a loader of its own", "patches the tests", "compiles test files without their assertions by a loader", _plain(_FINDER)),
    Cheat("the encoder", "channel and token thieves", "changes events in the encoder of JSON, and reports when an object dies", _plain(_DELETED)),
)  # fmt: skip
