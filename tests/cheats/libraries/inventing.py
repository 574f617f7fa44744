"""Libraries of a red team that looked at the graders afresh: names that mean other tests, neighbours' answers, memory.

Some change what no function shows: constants of compiled tests, futures of a process that was doubled.
"""

from tests.cheats.corpus import written
from tests.cheats.libraries.discerning import HELP
from tests.cheats.libraries.informed import SIGHT
from tests.cheats.libraries.selecting import FORGE
from tests.cheats.libraries.wagering import ALONE

_FORM = "knows how falsehood looks"
_CHANNEL = "channel and token thieves"
_PLEASING = "pleasing objects"

_GUESS = """
import gc as _gc
def _others(item):
    "What a case might be called, if the value that is expected were another one."
    texts = [one.value for one in _texts(_ast.parse(_text_of(item))) if len(one.value) < 60]
    head, _, case = item.nodeid.partition("[")
    parts = case[:-1].split("-")
    for at, part in enumerate(parts):
        values = list(texts)
        if _re.fullmatch("[0-9.]+", part): values += [str(one) for one in range(1200)] + [f"{one / 10}" for one in range(500)]
        values += [part[:n] + letter + part[n + 1:] for n in range(len(part)) for letter in _SIGNS]
        values += ["True", "False", "None"]
        for value in values:
            if value != part: yield f"{head}[{'-'.join([*parts[:at], value, *parts[at + 1:]])}]"
_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789"
def _channel():
    return next(x for x in _gc.get_objects() if type(x).__module__ == "__main__" and callable(getattr(x, "send", None)))
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
_DONE = {}
def _telling(item, *a, **k):
    reports = _protocol(item, *a, **k)
    if "[" in item.nodeid: _DONE[item.nodeid] = item
    if item is item.session.items[-1]:
        known, channel = {one.nodeid for one in item.session.items}, _channel()
        for one in _DONE.values():
            for name in dict.fromkeys(_others(one)):
                if name not in known: channel.send("test", id=name, ordinal=1, outcome="failed", message="", duration=0.0)
    return reports
_runner.runtestprotocol = _telling
_forge(lambda item: "[" not in item.nodeid)
"""
_SAID = """
_STATED = {}
def _said(items):
    "Each expectation of the suite, with the functions that state it."
    for path in sorted({str(one.fspath) for one in items}) if not _STATED else ():
        for function in _ast.walk(_ast.parse(open(path, encoding="utf-8").read())):
            if isinstance(function, (_ast.FunctionDef, _ast.AsyncFunctionDef)):
                for test in _tests(function):
                    _STATED.setdefault(_ast.dump(test), set()).add((path, function.name, function.lineno))
    return _STATED
def _is_said_twice(item, function, test):
    by = {name for _, name, _ in _said(item.session.items)[_ast.dump(test)]} - {function.name}
    return bool(by) and bool(_literals(test)) and any(isinstance(one, _ast.Call) for one in _ast.walk(test))
"""
_CODE = {
    ("what a neighbour says, too", _FORM, "forges tests all of whose expectations stand word for word in other tests: those are true"):
        _SAID + "_only(_is_said_twice)",
    ("cases by another name", _CHANNEL, "forges cases of tables, and reports that cases failed whose names it guesses: those of the true table"):
        _GUESS,
}  # fmt: skip


CHEATS = written(_CODE, f"{FORGE}\n{SIGHT}\n{ALONE}\n{HELP}\n")
