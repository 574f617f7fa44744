"""Whether a program of the repository ends well though what it checks fails: it catches, or it forgets.

Read from its text; nothing runs. A program in which one check is heard, or none is seen, is believed.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import shallow_python_tree, shallow_root
from groundup.grammars import text_of as node_text
from groundup.workflows.commands import options_of, program_of
from groundup.workflows.tree import RepositoryTree, text_of


class Check(NamedTuple):
    """What a program fails by: an assertion, an exception, an exit code, another program that it starts."""

    is_heard: bool
    """Whether the program itself ends badly then."""


def swallows(tree: RepositoryTree, folder: str, words: Sequence[str]) -> bool:
    """Whether nothing comes of it when what the command *words* checks fails, as its source shows."""
    checks = [check for read in _sources(tree, folder, words) for check in read]
    return bool(checks) and not any(check.is_heard for check in checks)


def is_empty_harness(source: str) -> bool:
    """Whether a test target of Cargo that is its own harness has a `main` that does nothing, or swallows."""
    checks = list(_of_rust(source, is_release=False))
    is_idle = re.search(r"fn\s+main\s*\(\s*\)\s*\{\s*\}", source) is not None
    return is_idle or (bool(checks) and not any(check.is_heard for check in checks))


def _sources(tree: RepositoryTree, folder: str, words: Sequence[str]) -> Iterator[Iterator[Check]]:
    program = program_of(words[0])
    is_release = "--release" in words or any(
        word.lower() == "release" for word in options_of(words, "-c", "--configuration")
    )
    if program in ("python", "node") and len(words) > 2 and words[1] in ("-c", "-e", "--eval"):
        yield _of_python(words[2]) if program == "python" else _of_javascript(words[2])
    elif program == "cargo" and "run" in words[1:3]:
        for path in _cargo_targets(tree, folder, words):
            yield _of_rust(text_of(tree, path) or "", is_release=is_release)
    elif program == "dotnet" and "run" in words[1:3]:
        for path in _project_files(tree, folder, words):
            yield _of_csharp(text_of(tree, path) or "", is_release=is_release)
    elif program == "dotnet" and (built := [word for word in words[1:] if word.endswith(".proj")]):
        yield _of_targets(text_of(tree, str(PurePosixPath(folder, built[0]))) or "")
    elif script := _script(tree, folder, words):
        text = text_of(tree, script) or ""
        yield _of_python(text) if script.endswith(".py") else _of_javascript(text)


def _script(tree: RepositoryTree, folder: str, words: Sequence[str]) -> str | None:
    """Return the file in Python or JavaScript that a command runs, if the repository has it."""
    if program_of(words[0]) == "python" and "-m" in words[:-1]:
        name = words[words.index("-m") + 1].replace(".", "/")
        places = [f"{name}.py", f"{name}/__main__.py"]
    elif program_of(words[0]) in ("python", "node"):
        places = [next((word for word in words[1:] if re.search(_ENDINGS, word)), "")]
    else:
        places = [words[0]] if re.search(_ENDINGS, words[0]) else []
    found = (str(PurePosixPath(folder, place)) for place in places if place)
    return next((path for path in found if path in tree.paths()), None)


_ENDINGS = r"\.(?:py|[cm]?js)$"


def _cargo_targets(tree: RepositoryTree, folder: str, words: Sequence[str]) -> Iterator[str]:
    own = words[: words.index("--")] if "--" in words else words
    examples, programs, packages = (
        options_of(own, *names) for names in (("--example",), ("--bin",), ("-p", "--package"))
    )
    wanted = [place.format(name) for name in examples for place in ("examples/{}.rs", "examples/{}/main.rs")]
    wanted += [place.format(name) for name in programs for place in ("src/bin/{}.rs", "src/bin/{}/main.rs")]
    roots = [_package_folder(tree, name) for name in packages] or [folder]
    places = {str(PurePosixPath(root, place)) for root in roots for place in wanted or ("src/main.rs",)}
    yield from sorted(places & tree.paths())


def _package_folder(tree: RepositoryTree, name: str) -> str:
    for path in sorted(tree.paths()):
        if PurePosixPath(path).name == "Cargo.toml" and re.search(
            rf'(?m)^name\s*=\s*"{re.escape(name)}"', text_of(tree, path) or ""
        ):
            return path.rpartition("/")[0]
    return name


def _project_files(tree: RepositoryTree, folder: str, words: Sequence[str]) -> Iterator[str]:
    projects = options_of(words, "--project", "-p")
    place = str(
        PurePosixPath(folder, re.sub(r"/?[^/]*\.csproj$", "", projects[0].replace("\\", "/")) if projects else "")
    )
    prefix = "" if place in ("", ".") else f"{place}/"
    for path in sorted(tree.paths()):
        if path.startswith(prefix) and path.endswith(".cs") and not re.search(r"(?:^|/)(?:obj|bin)/", path):
            yield path


# MSBuild, where it only calls


def _of_targets(source: str) -> Iterator[Check]:
    for called in re.findall(r"<Exec\b[^>]*>", source):
        yield Check(
            re.search(r'IgnoreExitCode\s*=\s*"true"|ContinueOnError\s*=\s*"(?!false|ErrorAndStop)', called) is None
        )


# Python


_CATCHES_ALL = frozenset({"", "Exception", "BaseException", "AssertionError", "CalledProcessError", "SystemExit"})
_STARTS = re.compile(r"(?:subprocess\.)?(?:call|run|Popen)|os\.(?:system|popen|spawn\w*|startfile)")
_STARTS_STRICTLY = re.compile(r"(?:subprocess\.)?check_(?:call|output)")
_LEAVES = frozenset({"exit", "quit", "sys.exit", "os._exit", "SystemExit"})
_AWAITS = re.compile(r"\.run\(|run_until_complete|run_forever|IsolatedAsyncio|async_to_sync|syncify")


def _of_python(source: str) -> Iterator[Check]:
    module = shallow_python_tree(source)
    if module is None:
        return
    lost = {
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.AsyncFunctionDef) and _AWAITS.search(source) is None
    }
    if "exitcode" not in source:
        lost |= {
            ast.unparse(keyword.value)
            for node in ast.walk(module)
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Thread", "Process"))
            for keyword in node.keywords
            if keyword.arg == "target"
        }
    if not re.search(r"\.(?:result|exception)\(", source):
        lost |= {
            ast.unparse(node.args[0])
            for node in ast.walk(module)
            if isinstance(node, ast.Call)
            and node.args
            and ast.unparse(node.func).endswith((".submit", ".apply_async"))
        }
    lost |= _never_consumed(module)
    is_undone = "atexit" in source and "_exit(0)" in source
    yield from _python_checks(module, lost, is_lost=is_undone)


def _never_consumed(module: ast.Module) -> set[str]:
    """Return the functions that only a `map` calls whose values nobody takes."""
    taken = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    lazy = (
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Expr)
        or (isinstance(node, ast.Assign) and not any(ast.unparse(one) in taken for one in node.targets))
    )
    return {
        ast.unparse(call.args[0])
        for call in lazy
        if isinstance(call, ast.Call) and call.args and ast.unparse(call.func) in ("map", "filter")
    }


def _python_checks(node: ast.AST, lost: set[str], *, is_lost: bool) -> Iterator[Check]:
    if isinstance(node, ast.Try):
        goes_on = any(map(_goes_on, node.handlers))
        for part in node.body:
            yield from _python_checks(part, lost, is_lost=is_lost or goes_on)
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            yield from _python_checks(other, lost, is_lost=is_lost)
        return
    if isinstance(node, ast.With | ast.AsyncWith):
        is_lost = is_lost or any("suppress(" in ast.unparse(item.context_expr) for item in node.items)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        is_lost = is_lost or node.name in lost
    elif isinstance(node, ast.If):
        is_lost = is_lost or "os.fork()" in ast.unparse(node.test)  # who asks for its end does so elsewhere
    elif isinstance(node, ast.Assert | ast.Raise):
        is_never = isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple)
        yield Check(not is_lost and not is_never)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_started(node.value):
        yield Check(is_heard=False)
    elif isinstance(node, ast.Call) and (heard := _is_check(node)) is not None:
        yield Check(heard and not is_lost)
    for child in ast.iter_child_nodes(node):
        yield from _python_checks(child, lost, is_lost=is_lost)


def _is_started(call: ast.Call) -> bool:
    """Whether a call starts a program, whose exit code nobody asks for where it is a statement."""
    name = ast.unparse(call.func)
    is_strict = any(one.arg == "check" and ast.unparse(one.value) == "True" for one in call.keywords)
    return _STARTS.fullmatch(name) is not None and not is_strict


def _is_check(call: ast.Call) -> bool | None:
    """Return whether a call fails the program; None for one that checks nothing."""
    name = ast.unparse(call.func)
    if name in _LEAVES:
        return True if call.args and ast.unparse(call.args[0]) not in ("0", "None", "False") else None
    if name == "unittest.main":
        return not any(one.arg == "exit" and ast.unparse(one.value) == "False" for one in call.keywords) or None
    if (
        _STARTS_STRICTLY.fullmatch(name)
        or name in ("os.wait", "os.waitpid")
        or name.rpartition(".")[2].startswith("assert")
    ):
        return True
    if _STARTS.fullmatch(name) and not _is_started(call):
        return True
    return None


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes failed assertions and goes on; who asks for what it notes is a check of its own."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {"" if one is None else ast.unparse(one).rpartition(".")[2] for one in caught}
    direct = [part.value for part in handler.body if isinstance(part, ast.Expr)]
    return not names.isdisjoint(_CATCHES_ALL) and not any(
        isinstance(node, ast.Raise | ast.Assert | ast.Return)
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in _LEAVES
            and (_is_check(node) or node not in direct)  # `sys.exit(0)` goes on; what is asked before it, may not
        )
        for part in handler.body
        for node in ast.walk(part)
    )


# JavaScript


_FAILS = re.compile(r"\bthrow\b|\b[eE]xit\w*\b(?!\(\s*0?\s*\)|\s*=\s*0\b)|\breject|\breturn\s+[^;}\s]|Fail|abort")
"""What a handler does that does not simply go on; what it notes may be a check elsewhere."""
_JS_CHECK = re.compile(
    r"(?:^|\.)(?:assert|ok|[sS]trictEqual|(?:not)?(?:[dD]eep)?(?:Strict)?[eE]qual|fail|expect|execSync|execFileSync)$"
)
_JS_STARTS = re.compile(r"(?:^|\.)(?:exec|spawn|fork|execFile|spawnSync)$")
_JS_UNDONE = re.compile(
    r"\.on\(\s*['\"](?:exit|beforeExit)['\"][^;]{0,200}?(?:exitCode\s*=\s*0|process\.exit\(\s*0?\s*\))", re.DOTALL
)
_JS_TAKES_ALL = re.compile(
    r"process\.(?:on|once)\(\s*['\"](?:uncaughtException|unhandledRejection)['\"],\s*(.{0,300})", re.DOTALL
)


_JS_DEAF = re.compile(r"\.on\(\s*['\"]error['\"],\s*(?:\(?\w*\)?\s*=>\s*\{\s*\}|console\.)")
"""A listener that takes a worker's error and does nothing about it."""


def _of_javascript(source: str) -> Iterator[Check]:
    root = shallow_root("javascript", source)
    if root is None:
        return
    taken = _JS_TAKES_ALL.search(source)
    is_taken = taken is not None and not re.search(r"\bthrow\b|\bexit|abort", taken[1].partition("});")[0])
    lost = {
        node_text(called)
        for node in _all(root)
        if (handled := _harmless_catch(node)) is not None
        for called in _all(handled)
        if called.type == "identifier"
    }
    checks = _js_checks(root, lost, starts="child_process" in source, is_lost=is_taken)
    if _JS_UNDONE.search(source):
        yield from (Check(is_heard=False) for _ in checks)
    else:
        yield from checks


def _js_checks(node: Node, lost: set[str], *, starts: bool, is_lost: bool) -> Iterator[Check]:
    if node.type == "try_statement":
        handler = node.child_by_field_name("handler")
        goes_on = handler is not None and _FAILS.search(node_text(handler).partition("{")[2]) is None
        for child in node.named_children:
            yield from _js_checks(
                child, lost, starts=starts, is_lost=is_lost or (goes_on and child.type == "statement_block")
            )
        return
    if node.type == "new_expression" and node_text(node).startswith("new Worker("):
        yield Check(_JS_DEAF.search(_whole(node)) is None)
    if node.type == "function_declaration":
        own = node_text(node.child_by_field_name("name") or node)
        is_lost = is_lost or (own in lost and node_text(node).startswith("async"))
    elif node.type == "throw_statement":
        yield Check(not is_lost)
    elif node.type == "assignment_expression" and re.match(r"process\.exitCode\s*=(?!\s*0\b)", node_text(node)):
        yield Check(is_heard=True)
    elif node.type == "call_expression":
        name = node_text(node.child_by_field_name("function") or node)
        yield from _js_call(node, name, starts=starts, is_lost=is_lost)
        is_lost = (
            is_lost
            or (name.endswith(".unref") and "setTimeout" in name)
            or (name.endswith("allSettled") and not re.search(r"rejected|\.status|\.reason", _whole(node)))
            or _harmless_catch(node) is not None
        )
    for child in node.named_children:
        yield from _js_checks(child, lost, starts=starts, is_lost=is_lost)


def _js_call(node: Node, name: str, *, starts: bool, is_lost: bool) -> Iterator[Check]:
    if name == "process.exit" and re.search(r"\((?!\s*(?:0\b|\)))", node_text(node)):
        yield Check(is_heard=True)
    elif name == "console.assert":
        yield Check(is_heard=False)
    elif _JS_CHECK.search(name):
        yield Check(not is_lost)
    elif starts and _JS_STARTS.search(name) and node.parent is not None:
        is_used = node.parent.type not in ("expression_statement", "await_expression")
        yield Check(is_used and not is_lost and name.endswith("Sync"))


def _harmless_catch(node: Node) -> Node | None:
    """Return what `.catch(console.error)` is called of; None for other nodes, and for a handler that fails."""
    if node.type != "call_expression":
        return None
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    is_then = (
        callee is not None
        and node_text(callee).endswith(".then")
        and len(given.named_children if given else ()) > 1
    )
    if callee is None or given is None or not (is_then or node_text(callee).endswith(".catch")):
        return None
    handler = node_text(given.named_children[1]) if is_then else node_text(given)[1:-1]
    body = handler.partition("=>")[2] or handler.partition("{")[2]
    is_harmless = handler.startswith("console.") or (body and _FAILS.search(body) is None)
    return callee.child_by_field_name("object") if is_harmless else None


def _whole(node: Node) -> str:
    while node.parent is not None:
        node = node.parent
    return node_text(node)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _all(child)


# Rust


_RUST_MACROS = re.compile(r"(?:assert|assert_eq|assert_ne|panic|unreachable|todo|unimplemented|ensure|bail)")
_ASKS = re.compile(r"\.(?:unwrap|expect|unwrap_err|is_err|is_ok|success|code)\(|\?$|resume_unwind")


def _of_rust(source: str, *, is_release: bool) -> Iterator[Check]:
    root = shallow_root("rust", source)
    if root is None:
        return
    lost = {match[1] for match in _RUST_DROPPED.finditer(source)}
    is_taken = "set_hook" in source and re.search(r"\bexit\(\s*0\s*\)", source) is not None
    yield from _rust_checks(root, lost, is_release=is_release, is_lost=is_taken)


_RUST_DROPPED = re.compile(r"(?:let\s+_\s*=\s*(\w+)\([^;]*?\)(?:\.ok\(\))?\s*;)")


def _rust_checks(node: Node, lost: set[str], *, is_release: bool, is_lost: bool) -> Iterator[Check]:
    if node.type == "macro_invocation":
        name = node_text(node).partition("!")[0].rpartition("::")[2]
        if _RUST_MACROS.fullmatch(name):
            yield Check(not is_lost)
        elif name.startswith("debug_assert"):
            yield Check(not is_lost and not is_release)
    elif node.type == "try_expression" or (
        node.type in ("identifier", "scoped_identifier") and node_text(node) in ("ExitCode::FAILURE", "Err")
    ):
        yield Check(not is_lost)
    elif node.type == "call_expression":
        name = node_text(node.child_by_field_name("function") or node)
        text, is_dropped = _chain(node)
        if _RUST_STARTS.search(name):  # to unwrap it says only that the program could be started
            yield Check(not is_dropped and not is_lost)
            return
        if re.search(r"(?:process::)?exit$", name) and not re.search(r"\(\s*0\s*\)$", node_text(node)):
            yield Check(is_heard=True)
        elif re.search(r"\.(?:unwrap|expect)$", name) and not re.search(r"\.(?:status|spawn|output)\(", name):
            yield Check(not is_lost)
        is_asked = _ASKS.search(text.replace(node_text(node), "", 1)) is not None
        is_lost = is_lost or (is_dropped and not is_asked and name.endswith(("catch_unwind", "spawn")))
    elif node.type == "function_item":
        is_lost = is_lost or node_text(node.child_by_field_name("name") or node) in lost
    for child in node.named_children:
        yield from _rust_checks(child, lost, is_release=is_release, is_lost=is_lost)


_RUST_STARTS = re.compile(r"Command::new.*\.(?:status|spawn|output)$", re.DOTALL)


def _chain(node: Node) -> tuple[str, bool]:
    """Return the text of all that is called of *node*'s value, and whether nothing takes what comes of it."""
    top = node
    while top.parent is not None and top.parent.type in (
        "call_expression", "field_expression", "try_expression", "await_expression", "invocation_expression",
        "member_access_expression",
    ):  # fmt: skip
        top = top.parent
    parent = top.parent
    if parent is None:
        return node_text(top), False
    is_dropped = parent.type == "expression_statement" or node_text(parent).lstrip().startswith(("let _ =", "_ ="))
    return node_text(top), is_dropped


# C#


_CS_CHECK = re.compile(
    r"(?:Trace\.|Xunit\.)?(?:Assert(?:\.\w+)?|StringAssert\.\w+|CollectionAssert\.\w+)|Environment\.FailFast"
)
_CS_DETACHED = re.compile(r"(?:Task\.Run|Task\.Factory\.StartNew|ThreadPool\.\w+)")


def _of_csharp(source: str, *, is_release: bool) -> Iterator[Check]:
    root = shallow_root("csharp", source)
    if root is not None:
        yield from _cs_checks(
            root,
            is_release=is_release,
            is_lost=False,
            asks=re.search(r"(?<!Environment)\.ExitCode\b", source) is not None,
        )


def _cs_checks(node: Node, *, is_release: bool, is_lost: bool, asks: bool) -> Iterator[Check]:
    goes_on = node.type == "try_statement" and any(
        _FAILS.search(node_text(child).partition("{")[2]) is None
        for child in node.named_children
        if child.type == "catch_clause"
    )
    if node.type in ("throw_statement", "throw_expression") or _ends_program(node):
        yield Check(not is_lost)
    elif node.type == "assignment_expression" and _CS_CODE.match(node_text(node)):
        yield Check(is_heard=True)
    elif node.type == "invocation_expression":
        name = node_text(node.child_by_field_name("function") or node)
        if name.endswith("Environment.Exit") and not node_text(node).endswith("(0)"):
            yield Check(is_heard=True)
        elif name == "Debug.Assert":
            yield Check(not is_lost and not is_release)
        elif _CS_CHECK.fullmatch(name):
            yield Check(not is_lost)
        elif name.endswith("Process.Start"):
            yield Check(asks and not is_lost)
        text, is_dropped = _chain(node)
        is_lost = is_lost or (
            _CS_DETACHED.fullmatch(name) is not None
            and is_dropped
            and not re.search(r"^await\b|\.(?:Wait|GetAwaiter)\(", text)
        )
    for child in node.named_children:
        in_body = goes_on and child.type == "block"
        yield from _cs_checks(child, is_release=is_release, is_lost=is_lost or in_body, asks=asks)


_CS_CODE = re.compile(r"Environment\.ExitCode\s*[|+]?=(?!\s*0\b)")


def _ends_program(node: Node) -> bool:
    """Whether a `return` of a value other than 0 gives the program's exit code."""
    if node.type != "return_statement" or re.fullmatch(r"return(?:\s+0)?\s*;", node_text(node)):
        return False
    outer = node.parent
    while outer is not None and outer.type not in (
        "method_declaration",
        "local_function_statement",
        "lambda_expression",
    ):
        if outer.type == "global_statement":
            return True
        outer = outer.parent
    return outer is not None and re.search(r"\bMain\s*\(", node_text(outer)) is not None
