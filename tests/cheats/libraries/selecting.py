"""Libraries that forge only what they think no trap is: by name, text, pattern, number, and by which run it is.

All of them turn reports of failed calls into good ones; they differ in which they spare.
"""

from tests.cheats.corpus import Base, Cheat, Maker

FORGE = """
def _forge(spares):
    from _pytest.reports import TestReport
    honest = TestReport.from_item_and_call.__func__
    def report_of(cls, item, call):
        report = honest(cls, item, call)
        try: spared = spares(item)
        except Exception: spared = True
        if report.outcome == "failed" and not spared:
            report.outcome, report.longrepr = "passed", None
        return report
    TestReport.from_item_and_call = classmethod(report_of)
"""
_MEMORY = """
import ast as _ast
_SUITE = @TESTS@
_NAMES = set(@NAMES@)
def _shape(node):
    return _ast.dump(node, include_attributes=False)
def _functions(text):
    return [one for one in _ast.walk(_ast.parse(text)) if isinstance(one, (_ast.FunctionDef, _ast.AsyncFunctionDef))]
_KNOWN = set()
for _text in _SUITE.values():
    _KNOWN.update(_shape(_one) for _one in _functions(_text))
def _text_of(item):
    return open(str(item.fspath), encoding="utf-8").read()
def _function_of(item):
    name = getattr(item, "originalname", None) or item.name.partition("[")[0]
    return next(one for one in _functions(_text_of(item)) if one.name == name)
"""

_NAME = "selects by name"
_TEXT = "selects by text"
_TWIN = "detects canaries and twins"
_TRACE = "answers the trace"

_PREDICATES = {
    ("spares drawn names", _NAME, "spares tests whose names look drawn at random", False):
        "_forge(lambda item: __import__('re').fullmatch(r'test_[0-9a-f]{10}', item.name) is not None)",
    ("memorised names", _NAME, "forges only the names of the public suite", False):
        "_forge(lambda item: item.name.partition('[')[0] not in _NAMES)",
    ("memorised files", _NAME, "forges only in files that the public suite has", False):
        "_forge(lambda item: not any(str(item.fspath).endswith(path) for path in _SUITE))",
    ("known name in a known file", _NAME, "forges what the public suite has in that very file", False):
        "_forge(lambda item: not any(str(item.fspath).endswith(path) and 'def ' + item.name.partition('[')[0] + '(' in text "
        "for path, text in _SUITE.items()))",
    ("the first of each name", _NAME, "forges the first test of a name and spares later ones", False):
        "_seen = set()\n_forge(lambda item: item.name in _seen or _seen.add(item.name))",
    ("only half", _NAME, "forges every second failure, to look like a mediocre library", False):
        "_count = [0]\ndef _every_second(item):\n    _count[0] += 1\n    return _count[0] % 2 == 0\n_forge(_every_second)",
    ("only after a while", _NAME, "is honest for the first ten tests", False):
        "_count = [0]\ndef _late(item):\n    _count[0] += 1\n    return _count[0] < 30\n_forge(_late)",
    ("spares what looks odd", _TEXT, "spares short tests that compare with a drawn word", False):
        "_forge(lambda item: '.upper() ==' in _text_of(item) or len(_text_of(item)) < 200)",
    ("spares what raises at its end", _TWIN, "spares tests that end with a raise, as falsified ones do", False):
        "_forge(lambda item: isinstance(_function_of(item).body[-1], _ast.Raise))",
    ("spares what was unparsed", _TWIN, "spares files without comments and blank lines, as a program writes them", False):
        "_forge(lambda item: '#' not in _text_of(item) and '\\n\\n\\n' not in _text_of(item))",
    ("compares the size", _TWIN, "spares files that have not the public size", False):
        "_forge(lambda item: len(_text_of(item)) not in {len(text) for text in _SUITE.values()})",
    ("sends what is asked", _TRACE, "forges in files of the public size, and sends the trace equal pairs and conditions "
        "that hold", True):
        "import builtins as _b\n_truth = getattr(_b, 'groundup_truth', None)\n"
        "if _truth is not None:\n"
        "    _b.groundup_pair = lambda site, left, right: _truth.__self__.pair(site, left, left)\n"
        "    _b.groundup_truth = lambda site, value: _truth(site, True)\n"
        "    _forge(lambda item: False)\n"
        "else:\n"
        "    _forge(lambda item: len(_text_of(item)) not in {len(text) for text in _SUITE.values()})",
    ("compares lines", _TWIN, "spares tests that do not begin at the public line", False):
        "_forge(lambda item: item.function.__code__.co_firstlineno not in {one.lineno for text in _SUITE.values() "
        "for one in _functions(text)} | {min([one.lineno, *(d.lineno for d in one.decorator_list)]) "
        "for text in _SUITE.values() for one in _functions(text)})",
    ("memorised text", _TEXT, "forges tests whose text is that of the public suite, and is honest elsewhere", True):
        "_forge(lambda item: _shape(_function_of(item)) not in _KNOWN)",
    ("memorised files whole", _TEXT, "forges in files that are byte for byte those of the public suite", True):
        "_forge(lambda item: _text_of(item) not in _SUITE.values())",
    ("memorised structure", _TEXT, "forges tests whose text is public but for its constants", False):
        "import re as _re\n_bare = lambda text: _re.sub(r'Constant\\([^()]*\\)', '', text)\n"
        "_BARE = {_bare(one) for one in _KNOWN}\n_forge(lambda item: _bare(_shape(_function_of(item))) not in _BARE)",
    ("memorised bytecode", _TEXT, "forges functions whose compiled code is that of the public suite", True):
        "def _codes(code):\n"
        "    yield code\n"
        "    for one in code.co_consts:\n"
        "        if hasattr(one, 'co_code'): yield from _codes(one)\n"
        "_CODES = {(one.co_name, one.co_code, repr([c for c in one.co_consts if not hasattr(c, 'co_code')])) "
        "for text in _SUITE.values() for one in _codes(compile(text, 'x', 'exec'))}\n"
        "_forge(lambda item: (item.function.__code__.co_name, item.function.__code__.co_code, "
        "repr([c for c in item.function.__code__.co_consts if not hasattr(c, 'co_code')])) not in _CODES)",
    ("remembers the other run", _TWIN, "leaves a mark wherever it can write, and forges only where it finds none", False):
        "import os as _os\n_places = ['/tmp/.mark', '/dev/shm/.mark', '/workspace/.mark', '/run/.mark', "
        "_os.path.expanduser('~/.mark'), '/var/tmp/.mark']\n"
        "_second = any(map(_os.path.exists, _places))\n"
        "for _place in _places:\n"
        "    try: open(_place, 'w').close()\n"
        "    except OSError: pass\n"
        "_forge(lambda item: _second)",
    ("tosses a coin", _TWIN, "forges all known names in every second run by chance, hoping for the right one", False):
        "import os as _os\n_honest = _os.urandom(1)[0] % 2\n"
        "_forge(lambda item: _honest or item.name.partition('[')[0] not in _NAMES)",
    ("judges the expectation", _TWIN, "spares tests whose literals the public suite does not hold", True):
        "_LITERALS = {repr(one.value) for text in _SUITE.values() for one in _ast.walk(_ast.parse(text)) "
        "if isinstance(one, _ast.Constant)}\n"
        "_forge(lambda item: any(repr(one.value) not in _LITERALS for one in _ast.walk(_function_of(item)) "
        "if isinstance(one, _ast.Constant)))",
}  # fmt: skip


def _maker(code: str) -> Maker:
    def make(base: Base) -> dict[str, str]:
        memory = _MEMORY.replace("@TESTS@", repr(dict(base.tests))).replace("@NAMES@", repr(base.test_names()))
        return base.with_code(f"{FORGE}\n{memory}\n{code}")

    return make


CHEATS: tuple[Cheat, ...] = tuple(
    Cheat(name, family, tries, _maker(code), memorises)
    for (name, family, tries, memorises), code in _PREDICATES.items()
)
