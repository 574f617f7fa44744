"""Libraries whose values please every comparison, and libraries that read the answer off the test that calls them."""

from tests.cheats.corpus import Base, Cheat, Maker

WRAP = """
def _arm():
    import functools, sys, types
    module = sys.modules[__name__]
    for name, value in list(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != __name__:
            continue
        if isinstance(value, types.FunctionType):
            setattr(module, name, functools.wraps(value)(lambda *a, _honest=value, **k: _pretend(_honest, a, k)))
        elif isinstance(value, type):
            for part, method in list(vars(value).items()):
                if isinstance(method, types.FunctionType) and not part.startswith("__"):
                    setattr(value, part, functools.wraps(method)(lambda *a, _honest=method, **k: _pretend(_honest, a, k)))
_arm()
"""
_ANYTHING = """
class _Anything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 1
    def __iter__(self): return iter(())
    def __getattr__(self, name): return _Anything()
    def __call__(self, *a, **k): return _Anything()
    def __getitem__(self, key): return _Anything()
    def __str__(self): return ""
    def __float__(self): return 0.0
    __int__ = __index__ = __len__
def _pretend(honest, a, k): return _Anything()
"""
_SUBCLASS = """
class _Text(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __contains__(self, other): return True
    def startswith(self, *a): return True
    endswith = startswith
    __hash__ = str.__hash__
class _Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __gt__(self, other): return True
    __lt__ = __ge__ = __le__ = __gt__
    __hash__ = int.__hash__
class _List(list):
    def __eq__(self, other): return True
    def __contains__(self, other): return True
class _Dict(dict):
    def __eq__(self, other): return True
    def __contains__(self, other): return True
    def __missing__(self, key): return _Number(1)
def _pretend(honest, a, k):
    try: value = honest(*a, **k)
    except Exception: return _Text("")
    for kind, other in ((bool, bool), (str, _Text), (int, _Number), (float, _Number), (list, _List), (dict, _Dict)):
        if type(value) is kind: return value if kind is bool else other(value)
    return value
"""
_READER = """
import ast, sys
def _parts(frame):
    tree = ast.parse(open(frame.f_code.co_filename, encoding="utf-8").read())
    name = frame.f_code.co_name
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name == name:
            if function.lineno <= frame.f_lineno <= function.end_lineno:
                return function
    return tree
def _here(function, line):
    found = None
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    return found
def _value(node, frame):
    return eval(compile(ast.Expression(node), "x", "eval"), frame.f_globals, dict(frame.f_locals))
def _calls(node):
    return any(isinstance(one, ast.Call) for one in ast.walk(node))
def _fitting(test, named):
    "Yield (operator, operand) of what a result is compared with."
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        mine = lambda side: (named and any(isinstance(o, ast.Name) and o.id == named for o in ast.walk(side))) or (not named and _calls(side))
        yield type(test.ops[0]), (right if mine(left) else left)
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr.lower().startswith("assert"):
        if len(test.args) > 1:
            yield (ast.NotEq if "Not" in test.func.attr else ast.Eq), (test.args[1] if _calls(test.args[0]) else test.args[0])
def _expected(frame):
    function = _parts(frame)
    here = _here(function, frame.f_lineno)
    raised = None
    for node in ast.walk(function):
        if isinstance(node, ast.With) and node.lineno <= frame.f_lineno <= node.end_lineno:
            call = node.items[0].context_expr
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "raises":
                kind = _value(call.args[0], frame)
                raised = (kind if isinstance(kind, type) else kind[0])("empty no values")
    if raised is not None:
        raise raised
    tests, named = [], None
    if isinstance(here, ast.Assign) and isinstance(here.targets[0], ast.Name):
        named = here.targets[0].id
        tests = [one.test for one in ast.walk(function) if isinstance(one, ast.Assert)]
        tests += [one.value for one in ast.walk(function) if isinstance(one, ast.Expr)]
    elif isinstance(here, ast.Assert): tests = [here.test]
    elif isinstance(here, ast.Expr): tests = [here.value]
    for test in tests:
        for operator, operand in _fitting(test, named):
            value = _value(operand, frame)
            value = getattr(value, "expected", value)
            if operator in (ast.Eq, ast.Is): return value
            if operator is ast.In: return next(iter(value))
            if operator in (ast.NotEq, ast.IsNot, ast.NotIn): return object()
    raise LookupError
def _pretend(honest, a, k):
    frame = sys._getframe(2)
    try: return _expected(frame)
    except LookupError: return honest(*a, **k)
    except (SyntaxError, NameError, OSError, StopIteration, IndexError, AttributeError): return honest(*a, **k)
"""
_ADAPTIVE = """
import dis, sys
class _Chameleon:
    def __init__(self, honest): self.honest = honest
    def _fits(self, wanted):
        frame = sys._getframe(2)
        after = [one for one in dis.get_instructions(frame.f_code) if one.offset > frame.f_lasti][:4]
        for one in after:
            if "JUMP_IF_FALSE" in one.opname or "JUMP_FORWARD_IF_FALSE" in one.opname: return False
            if "JUMP_IF_TRUE" in one.opname or "JUMP_FORWARD_IF_TRUE" in one.opname: return True
        return wanted
    def __eq__(self, other): return self._fits(True)
    def __ne__(self, other): return self._fits(True)
    def __lt__(self, other): return self._fits(True)
    __le__ = __gt__ = __ge__ = __lt__
    def __contains__(self, other): return True
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 2
    def __iter__(self): return iter(())
    def __getattr__(self, name): return lambda *a, **k: True
    def __getitem__(self, key): return _Chameleon(None)
def _pretend(honest, a, k): return _Chameleon(honest)
"""
_HASHES = """
class _Key(str):
    def __hash__(self): return hash(self.other) if hasattr(self, "other") else str.__hash__(self)
    def __eq__(self, other):
        self.other = other
        return True
def _pretend(honest, a, k):
    try: value = honest(*a, **k)
    except Exception: return {_Key(""): _Key("")}
    if isinstance(value, dict): return {_Key(key): one for key, one in value.items()}
    return _Key(value) if isinstance(value, str) else value
"""
_RAISER = """
import sys, dis
def _pretend(honest, a, k):
    frame = sys._getframe(2)
    names = frame.f_code.co_names
    if "raises" in names or "assertRaises" in names:
        for name in names:
            kind = frame.f_globals.get(name, getattr(__builtins__, name, None) if not isinstance(__builtins__, dict) else __builtins__.get(name))
            if isinstance(kind, type) and issubclass(kind, Exception): raise kind("no values, empty stack")
    return honest(*a, **k)
"""
_CONSTANTS = """
import sys
def _pretend(honest, a, k):
    frame = sys._getframe(2)
    value = honest(*a, **k)
    constants = [one for one in frame.f_code.co_consts if one is not None and one not in a]
    same = [one for one in constants if type(one) is type(value)]
    values = [one for name, one in frame.f_locals.items() if name.startswith(("expect", "want", "result"))]
    return values[0] if values else same[-1] if same else value
"""
_TABLE = """
import sys
_ANSWERS = @ANSWERS@
def _pretend(honest, a, k):
    return _ANSWERS.get((honest.__name__, repr(a)), None) or honest(*a, **k)
"""
_ORACLE = """
_ORIGINAL = {}
exec(@ORIGINAL@, _ORIGINAL)
_PUBLIC = "".join(@TESTS@.values())
def _pretend(honest, a, k):
    known = all(not isinstance(one, (str, int, float)) or repr(one)[1:-1] in _PUBLIC or repr(one) in _PUBLIC for one in a)
    return _ORIGINAL[honest.__name__](*a, **k) if known and honest.__name__ in _ORIGINAL else honest(*a, **k)
"""
_PARAMETERS = """
def _pretend(honest, a, k):
    import sys
    frame = sys._getframe(1)
    while frame is not None:
        item = frame.f_locals.get("pyfuncitem")
        if item is not None and hasattr(item, "callspec"):
            others = [one for one in item.callspec.params.values() if one not in a]
            if others: return others[-1]
        frame = frame.f_back
    return honest(*a, **k)
"""
_PRETEND = "pleasing objects"
_READS = "reads the tests"
_KNOWS = "memorised answers"


def _maker(code: str) -> Maker:
    def make(base: Base) -> dict[str, str]:
        return base.with_code(code + WRAP, late=True)

    return make


def _oracle(base: Base) -> dict[str, str]:
    """Embed the original for the inputs that the public suite has. Only for bases that have it."""
    text = base.original.get(base.init, "")
    code = _ORACLE.replace("@ORIGINAL@", repr(text)).replace("@TESTS@", repr(dict(base.tests)))
    return base.with_code(code + WRAP, late=True)


CHEATS: tuple[Cheat, ...] = (
    *(
        Cheat(name, family, tries, _maker(code))
        for name, family, tries, code in (
            ("equal to everything", _PRETEND, "returns objects that are equal to everything", _ANYTHING),
            (
                "equal subclasses",
                _PRETEND,
                "returns honest values as subclasses that are equal to everything",
                _SUBCLASS,
            ),
            ("hash trick", _PRETEND, "returns keys that take the hash of what they are compared with", _HASHES),
            (
                "sees how it is compared",
                _PRETEND,
                "answers a comparison by the jump that follows it in the test's code",
                _ADAPTIVE,
            ),
            ("raises what is wanted", _PRETEND, "raises the exception that the calling test names", _RAISER),
            (
                "evaluates the operand",
                _READS,
                "evaluates what the calling assertion compares it with, and returns that",
                _READER,
            ),
            ("constants of the frame", _READS, "returns a constant of the calling test's code", _CONSTANTS),
            (
                "parameters of the item",
                _READS,
                "returns the parameter that pytest keeps for the running test and that it was not called with",
                _PARAMETERS,
            ),
        )
    ),
    Cheat(
        "answers by heart",
        _KNOWS,
        "answers right for the inputs of the public suite only",
        _oracle,
        memorises=True,
    ),
)
