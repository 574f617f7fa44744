"""Libraries by an attacker who tells true expectations from false ones by what else stands in the test or its file.

They know no suite by heart. What a test is given, what is said twice, how numbers are written and which neighbour
differs from its copy show what is true, unless false expectations are made of the same words, numbers and classes.
"""

from tests.cheats.corpus import written
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.selecting import FORGE
from tests.cheats.libraries.wagering import ALONE

_FORM = "knows how falsehood looks"
_TWIN = "detects canaries and twins"

HELP = """
from collections import Counter as _Counter
_TREES = {}
def _tree_of(item):
    path = str(item.fspath)
    if path not in _TREES: _TREES[path] = _ast.parse(_text_of(item))
    return _TREES[path]
def _called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, _ast.Call) else ""
def _texts(node):
    return [one for one in _ast.walk(node) if isinstance(one, _ast.Constant) and isinstance(one.value, str)]
def _words_of(texts):
    return _Counter(word.lower() for one in texts for word in _re.findall("[A-Za-z]{3,}", one.value))
def _expected(test):
    "What an equality expects: a literal."
    sides = []
    if isinstance(test, _ast.Compare) and isinstance(test.ops[0], _ast.Eq): sides = [test.comparators[0], test.left]
    elif _called(test) in ("assertEqual", "assertEquals"): sides = test.args[1::-1]
    return next((one for one in sides if isinstance(one, (_ast.Constant, _ast.List, _ast.Tuple, _ast.Dict))), None)
def _text(test):
    found = _expected(test)
    return found.value if isinstance(found, _ast.Constant) and isinstance(found.value, str) else None
_SHOWN = (_ast.Constant, _ast.List, _ast.Tuple, _ast.Dict, _ast.Set, _ast.UnaryOp, type(None))
def _is_equality(test):
    return isinstance(getattr(test, "ops", [0])[0], _ast.Eq) or _called(test) in ("assertEqual", "assertEquals", "assertListEqual")
def _sides(test):
    return [test.left, test.comparators[0]] if isinstance(test, _ast.Compare) else test.args[:2]
def _origin(node, function):
    "What a name was set to last; None for a parameter."
    if not isinstance(node, _ast.Name): return node
    found = [one.value for one in _ast.walk(function) if isinstance(one, _ast.Assign)
             and one.lineno <= node.lineno and node.id in [getattr(x, "id", "") for x in one.targets]]
    return found[-1] if found else None
def _only(holds):
    "Forge the tests all of whose expectations are of a form."
    def spares(item):
        function = _function_of(item)
        tests = list(_tests(function))
        return not tests or bool(_raises(function)) or not all(holds(item, function, one) for one in tests)
    _forge(spares)
"""
_CODE = {
    ("words of the same test", _FORM, "forges tests that expect texts, all of whose words stand elsewhere in the test"):
        "def _own(item, function, test):\n"
        "    mine = _words_of(_texts(_expected(test)))\n"
        "    every = _words_of(_texts(function))\n"
        "    return bool(mine) and all(every[word] > mine[word] for word in mine)\n_only(_own)",
    ("said twice", _FORM, "forges tests that expect a text of several words that stands elsewhere in the file"):
        "def _twice(item, function, test):\n"
        "    words = _re.findall('[A-Za-z]{3,}', _text(test))\n"
        "    return len(words) > 1 and sum(one.value == _text(test) for one in _texts(_tree_of(item))) > 1\n_only(_twice)",
    ("as many of each word", _FORM, "forges tests that expect the words of another text of theirs, each as often"):
        "def _bag(item, function, test):\n"
        "    mine = _expected(test)\n"
        "    others = [one for one in _texts(function) if one not in list(_ast.walk(mine))]\n"
        "    return bool(_words_of(_texts(mine))) and any(_words_of([one]) == _words_of(_texts(mine)) for one in others)\n_only(_bag)",
    ("texts without letters", _FORM, "forges tests that expect signs and digits only, for falsehood writes letters"):
        "_only(lambda item, function, test: bool(_text(test)) and not _re.search('[A-Za-z]', _text(test)))",
    ("numbers in a row", _FORM, "forges tests that expect three numbers or more, each as far from the next"):
        "def _in_a_row(item, function, test):\n"
        "    values = [getattr(one, 'value', None) for one in _expected(test).elts]\n"
        "    return len(values) > 2 and len({b - a for a, b in zip(values, values[1:])}) == 1\n_only(_in_a_row)",
    ("numbers as people write them", _FORM, "forges tests that expect round numbers, few decimals, or numbers in base 16"):
        "def _written(item, function, test):\n"
        "    node = _expected(test)\n"
        "    if type(node.value) is int and node.value >= 10 and node.value % 10 == 0: return True\n"
        "    return bool(_re.match('0[xob]|.*_|[0-9]+[.][13579]$', _ast.get_source_segment(_text_of(item), node).lower()))\n_only(_written)",
    ("more and less", _FORM, "forges tests that say `<` or `>`, for falsehood says `<=` and `>=`"):
        "_only(lambda item, function, test: _called(test) in ('assertLess', 'assertGreater') or isinstance(test.ops[0], (_ast.Lt, _ast.Gt)))",
    ("asks for a class", _FORM, "forges tests that only ask for an instance, which falsehood denies"):
        "_only(lambda item, function, test: _called(test) in ('isinstance', 'assertIsInstance'))",
    ("nearly equal", _FORM, "forges tests that expect a number nearly, which falsehood wraps or denies"):
        "_only(lambda item, function, test: _called(test) == 'assertAlmostEqual' or any(_called(one) == 'approx' for one in (test.left, test.comparators[0])))",
    ("beside its copy", _TWIN, "forges the test from which a canary is copied: of two that differ, the canary is false"):
        "def _dump(function):\n    return _ast.dump(_ast.Module(function.body, []))\n"
        "def _alike(one, other):\n    a, b = (_re.findall('[(]|[^(]+', _dump(each)) for each in (one, other))\n"
        "    return len(a) == len(b) and sum(x != y for x, y in zip(a, b)) == 1\n"
        "def _has_copy(item):\n"
        "    copies = [_function_of(one) for one in item.session.items if _is_alone(one)]\n"
        "    return _is_alone(item) or not any(_alike(_function_of(item), one) for one in copies)\n_forge(_has_copy)",
    ("echoes but for space", _FORM, "forges tests that expect what they give, but for space and case"):
        "def _plain(one):\n    return ''.join(one.split()).lower()\n"
        "def _echo(item, function, test):\n"
        "    return bool(_text(test)) and sum(_plain(one.value) == _plain(_text(test)) for one in _texts(function)) > 1\n_only(_echo)",
    ("two computed values", _FORM, "forges tests that compare two values without a literal, also behind a name"):
        "_only(lambda item, function, test: _is_equality(test) and not _is_wrapped(function) "
        "and not any(isinstance(_origin(one, function), _SHOWN) for one in _sides(test)))",
    ("the library beside itself", _FORM, "forges tests both sides of whose equalities call the same function, or one that they share"):
        "def _calls(node):\n    return {_called(one) for one in _ast.walk(node)} - {''}\n"
        "_only(lambda item, function, test: _is_equality(test) and not _is_wrapped(function) "
        "and len({id(one) for one in _sides(test) if _calls(_origin(one, function))}) == 2 "
        "and bool(_calls(_origin(_sides(test)[0], function)) & _calls(_origin(_sides(test)[1], function))))",
    ("what comes back", _FORM, "forges tests that compare with what they gave, under its name"):
        "def _back(item, function, test):\n"
        "    names = [one.id for one in _sides(test) if isinstance(one, _ast.Name)] if _is_equality(test) else []\n"
        "    inside = {one.id for call in _ast.walk(function) if isinstance(call, _ast.Call) for part in call.args "
        "for one in _ast.walk(part) if isinstance(one, _ast.Name)}\n"
        "    return not _is_wrapped(function) and any(name in inside for name in names)\n_only(_back)",
    ("errors of its own", _FORM, "forges tests that only expect an exception which Python does not have"):
        "def _odd_error(item):\n"
        "    function = _function_of(item)\n"
        "    kinds = [getattr(one.args[0], 'attr', getattr(one.args[0], 'id', '')) for one in _raises(function)]\n"
        "    return not kinds or bool(list(_tests(function))) or any(hasattr(_b, kind) for kind in kinds)\n_forge(_odd_error)",
}  # fmt: skip


CHEATS = written(_CODE, f"{FORGE}\n{SIGHT}\n{ALONE}\n{HELP}\n")
