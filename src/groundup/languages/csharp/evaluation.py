"""What MSBuild makes of a project's properties and conditions, in the order in which it reads the files. Pure.

    Directory.Build.props, Directory.Packages.props, the project with what it imports, Directory.Build.targets

Of the two props the nearest file above the project counts. Only files of the repository are read: what the SDK or
the environment defines is unknown, and so is what most functions say. Paths begin with `/` at the root.
"""

import posixpath
import re
from collections.abc import Callable, Iterator

from groundup.manifests.editing import Text
from groundup.manifests.records import ManifestError
from groundup.manifests.xml_tree import Element, parse

_MOST_FILES = 40
_BALANCED = r"(?>[^()]|\((?>[^()]|\((?>[^()]|\([^()]*+\))*+\))*+\))*+"
"""What parentheses may hold: others, three deep."""
_USE = re.compile(rf"\$\(({_BALANCED})\)")
_ABOVE = re.compile(
    r"\[MSBuild\]::(?P<what>GetPathOfFileAbove|GetDirectoryNameOfFileAbove)\(\s*(?P<one>[^,]*?)\s*(?:,\s*(?P<two>.*?)\s*)?\)",
    re.IGNORECASE,
)
_DEFINED_ELSEWHERE = re.compile(
    r"target|config|platform|os$|is|using|use|msbuild|nuget|runtime|building|visual|ci$|continuous|github|tf_|appveyor"
    r"|solution|project|package|assembly|output|intermediate|root|lang|nullable|version|design|dev|net|bundled|microsoft"
    r"|enable|generate|self|publish|default|debug|optimize|define|home|user|path|temp",
    re.IGNORECASE,
)
"""How names begin that the SDK, a runner or the environment may define."""
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'[^']*')|(?P<sign>==|!=|<=|>=|<|>|!|\(|\))|"
    rf"(?P<word>(?:\$\({_BALANCED}\)|[^\s'()=!<>])+))"
)


class Evaluation:
    """The properties of one project."""

    def __init__(self, read: Callable[[str], bytes | None], project: str) -> None:
        self._read = read
        self._values: dict[str, str | None] = {}
        self._seen: set[str] = set()
        self._project = project
        for name in ("Directory.Build.props", "Directory.Packages.props"):
            self._load(self.nearest(name, posixpath.dirname(project)))
        self._load(project)
        self._load(self.nearest("Directory.Build.targets", posixpath.dirname(project)))

    def nearest(self, name: str, folder: str) -> str | None:
        """Return the file *name* in *folder* or the nearest one above that has it."""
        folder = folder.strip("/")
        while True:
            path = posixpath.join(folder, name)
            if self._read(path) is not None:
                return path
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def value(self, name: str) -> str | None:
        """Return a property's value; None where only a build knows it."""
        key = name.lower()
        if key in self._values:
            return self._values[key]
        return None if _DEFINED_ELSEWHERE.match(name) else ""

    def expanded(self, text: str, path: str) -> str | None:
        """Return *text* of the file at *path* with its properties replaced; None where one is unknown."""
        unknown = False

        def known(match: re.Match[str]) -> str:
            nonlocal unknown
            found = self._property(match[1].strip(), path)
            unknown = unknown or found is None
            return found or ""

        text = _USE.sub(known, text)
        return None if unknown or "$(" in text else text

    def holds(self, condition: str, path: str) -> bool | None:
        """Return whether a condition in the file at *path* holds; None where only a build knows."""
        return _Condition(condition, lambda text: self.expanded(text, path)).holds()

    def _property(self, name: str, path: str) -> str | None:
        folder = f"/{posixpath.dirname(path)}/".replace("//", "/")
        project = f"/{posixpath.dirname(self._project)}/".replace("//", "/")
        own = {
            "msbuildthisfiledirectory": folder,
            "msbuildthisfile": posixpath.basename(path),
            "msbuildprojectdirectory": project.rstrip("/") or "/",
            "projectdir": project,
            "msbuildprojectname": posixpath.splitext(posixpath.basename(self._project))[0],
            "msbuildprojectfile": posixpath.basename(self._project),
            "solutiondir": "/",
        }
        if name.lower() in own:
            return own[name.lower()]
        if match := _ABOVE.fullmatch(name):
            return self._file_above(match, path)
        return self.value(name) if re.fullmatch(r"\w+", name) else None

    def _file_above(self, match: re.Match[str], path: str) -> str | None:
        """Return what `GetPathOfFileAbove(file, start)` or `GetDirectoryNameOfFileAbove(start, file)` gives."""
        one, two = (self.expanded((match[name] or "").strip("'\""), path) for name in ("one", "two"))
        if one is None or two is None:
            return None
        is_path = match["what"].lower() == "getpathoffileabove"
        name, start = (one, two) if is_path else (two, one)
        found = self.nearest(name, posixpath.normpath(posixpath.join("/", posixpath.dirname(path), start)))
        return "" if found is None else f"/{found}" if is_path else f"/{posixpath.dirname(found)}"

    def _load(self, path: str | None) -> None:
        """Take the properties of a file and of what it imports, in the order in which they stand."""
        if path is None or path in self._seen or len(self._seen) >= _MOST_FILES:
            return
        self._seen.add(path)
        try:
            root = parse(Text.decode(self._read(path) or b"", path))
        except ManifestError:
            return
        for element in _evaluated(root):
            if any(self.holds(one, path) is False for one in conditions_of(element)):
                continue
            if element.local.lower() == "import":
                target = self.expanded(element.attribute("Project") or "", path)
                self._load(target and joined(path, target))
            else:
                self._values[element.local.lower()] = self.expanded(element.text, path)


def joined(path: str, target: str) -> str:
    """Return the path from the repository's root of what the file at *path* calls *target*."""
    whole = posixpath.join("/", posixpath.dirname(path), target.replace("\\", "/"))
    return posixpath.normpath(whole).lstrip("/")


def _evaluated(root: Element) -> Iterator[Element]:
    """Yield properties and imports, but not those of targets, in the order in which they stand."""
    for element in root.walk():
        parent = element.parent.local.lower() if element.parent else ""
        inside_target = any(one.local.lower() == "target" for one in element.ancestors())
        if not inside_target and (parent == "propertygroup" or element.local.lower() == "import"):
            yield element


def conditions_of(element: Element) -> Iterator[str]:
    """Yield the conditions of *element* and of all around it; `Otherwise` holds where no `When` does."""
    for one in (element, *element.ancestors()):
        if condition := one.attribute("Condition"):
            yield condition
        if one.local.lower() == "otherwise" and one.parent is not None:
            yield from (f"!({other.attribute('Condition')})" for other in one.parent.children if other is not one)


class _Condition:
    """A condition, taken apart by its grammar: `or`, `and`, `!`, brackets, comparisons, `Exists`."""

    def __init__(self, text: str, expanded: Callable[[str], str | None]) -> None:
        self._tokens = [match for match in _TOKEN.finditer(text) if match[0].strip()]
        self._at = 0
        self._expanded = expanded

    def holds(self) -> bool | None:
        """Return the whole's value; None where only a build knows, and for what is no condition."""
        found = self._any()
        return found if self._at == len(self._tokens) else None

    def _next(self) -> str:
        return self._tokens[self._at][0].strip() if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        found = self._next()
        self._at += 1
        return found

    def _any(self) -> bool | None:
        found = self._all()
        while self._next().lower() == "or":
            self._take()
            other = self._all()
            found = True if True in (found, other) else None if None in (found, other) else False
        return found

    def _all(self) -> bool | None:
        found = self._one()
        while self._next().lower() == "and":
            self._take()
            other = self._one()
            found = False if False in (found, other) else None if None in (found, other) else True
        return found

    def _one(self) -> bool | None:
        if self._next() == "!":
            self._take()
            inner = self._one()
            return None if inner is None else not inner
        if self._next() == "(":
            self._take()
            inner = self._any()
            return inner if self._take() == ")" else None
        left = self._take()
        if self._next() == "(":
            self._pass_call()
            return None
        if self._next() in ("==", "!=", "<", "<=", ">", ">="):
            return _compared(self._value(left), self._take(), self._value(self._take()))
        value = self._value(left)
        return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(
            (value or "").lower()
        )

    def _pass_call(self) -> None:
        """Pass over a call, such as `Exists('x')`, of which nothing is known."""
        while self._at < len(self._tokens) and self._take() != ")":
            pass

    def _value(self, text: str) -> str | None:
        return self._expanded(text.strip("'"))


def _compared(left: str | None, sign: str, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    if sign in ("==", "!="):
        return (left.lower() == right.lower()) is (sign == "==")
    try:
        one, two = float(left), float(right)
    except ValueError:
        return None
    return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[sign]
