"""C# projects of a repository: what project files, and what they inherit, say besides dependencies.

Packages and references between projects are never read here: they are what is to be inferred.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree

_INHERITED = ("directory.build.props", "directory.build.targets")
_PROPERTY = re.compile(r"\$\((\w+)\)")
_MODERN = re.compile(r"net(?:coreapp\d|[5-9]|\d\d+\.)")
_TEST_NAME = re.compile(r"(^|[._-])((Unit|Integration|Functional|Acceptance)?Tests?|Specs?)([._-]|$)|Tests?$")
_MOST_PROPERTIES = 3
"""How often a property may refer to another one."""
_LONGEST, _SHORT = 10_000, 200
"""Characters of a text in which properties are looked up, and of what is put in their place."""


_HOSTED = ("Configuration", "DependencyInjection", "Hosting", "Logging")
_IMPLICIT = {
    "microsoft.net.sdk.web": (
        *(f"Microsoft.Extensions.{name}" for name in _HOSTED),
        *(f"Microsoft.AspNetCore.{name}" for name in ("Builder", "Hosting", "Http", "Routing")),
    ),
    "microsoft.net.sdk.worker": tuple(f"Microsoft.Extensions.{name}" for name in _HOSTED),
}
"""Namespaces that an SDK opens in all files where a project asks for implicit usings; .NET's own are left out."""


class Using(NamedTuple):
    """A namespace that is open in all files of a project."""

    namespace: str
    path: str
    line: int


class Project(NamedTuple):
    """One C# project."""

    path: str
    sdks: frozenset[str]
    """In lower case, without versions."""
    properties: Mapping[str, str]
    """By name in lower case; those of a condition, or set again, stand behind each other with `;`."""
    usings: tuple[Using, ...]
    friends: frozenset[str]
    """Projects that may see its internals."""
    compiled: tuple[str, ...]
    """Files, and folders of files, outside of its own folder that it compiles."""

    @property
    def folder(self) -> str:
        """The folder it lies in, empty for the root."""
        return posixpath.dirname(self.path)

    @property
    def name(self) -> str:
        """The file's name without its ending, as MSBuild names the assembly."""
        return posixpath.splitext(posixpath.basename(self.path))[0]

    @property
    def names(self) -> frozenset[str]:
        """Names of its assembly and its package."""
        given = (self.properties.get(key, "") for key in ("assemblyname", "packageid"))
        return frozenset({self.name, *(name for text in given for name in text.split(";") if name)})

    @property
    def identifier(self) -> str:
        """Its name as generated code spells it."""
        return re.sub(r"\W", "_", self.name)

    @property
    def frameworks(self) -> frozenset[str]:
        """Target frameworks in lower case."""
        texts = (self.properties.get(key, "") for key in ("targetframework", "targetframeworks"))
        return frozenset(one.strip().lower() for text in texts for one in text.split(";") if one.strip())

    @property
    def implicit_usings(self) -> frozenset[str]:
        """Namespaces that the SDK opens in all its files."""
        if not {"enable", "true"} & {*self.properties.get("implicitusings", "").lower().split(";")}:
            return frozenset()
        return frozenset(name for sdk in self.sdks for name in _IMPLICIT.get(sdk, ()))

    @property
    def is_program(self) -> bool:
        """Whether it builds a program rather than a library."""
        kinds = self.properties.get("outputtype", "").lower().split(";")
        return "exe" in kinds or "winexe" in kinds or "microsoft.net.sdk.web" in self.sdks

    @property
    def is_modern(self) -> bool:
        """Whether it is built for .NET or .NET Core only; so it is taken where nothing says otherwise."""
        return all(_MODERN.match(framework) or "$(" in framework for framework in self.frameworks)

    @property
    def is_named_test(self) -> bool:
        """Whether its name or a property says that it holds tests."""
        told = self.properties.get("istestproject", "").lower()
        return told == "true" or (told != "false" and _TEST_NAME.search(self.name) is not None)


NO_PROJECT = Project("", frozenset(), {}, (), frozenset(), ())
"""What stands for the project of files that no project file speaks for."""


def read_projects(manifests: Mapping[str, bytes]) -> tuple[Project, ...]:
    """Return the projects among *manifests*, sorted by path. A file that is no XML counts as an empty project."""
    inherited: dict[str, list[tuple[str, ElementTree.Element]]] = defaultdict(list)
    for path, data in sorted(manifests.items()):
        if posixpath.basename(path).lower() in _INHERITED and (root := _parsed(data)) is not None:
            inherited[posixpath.dirname(path)].append((path, root))
    return tuple(
        _project(path, _parsed(data), [one for folder in _upwards(path) for one in inherited[folder]])
        for path, data in sorted(manifests.items())
        if path.lower().endswith((".csproj", ".fsproj", ".vbproj"))
    )


def owners(projects: Iterable[Project], sources: Iterable[str]) -> dict[str, list[Project]]:
    """Return the projects that compile each source: those of the nearest folder, and those that name it."""
    by_folder: dict[str, list[Project]] = defaultdict(list)
    besides: dict[str, list[Project]] = defaultdict(list)
    for project in projects:
        by_folder[project.folder].append(project)
        for place in project.compiled:
            besides[place].append(project)
    found = {}
    for path in sources:
        folders = [*_upwards(path)]
        nearest: list[Project] = next((by_folder[folder] for folder in folders if folder in by_folder), [])
        others = [project for place in (path, *folders) for project in besides.get(place, ())]
        found[path] = [*nearest, *(project for project in others if project not in nearest)]
    return found


def _upwards(path: str) -> Iterator[str]:
    """Yield the folders that *path* lies in, innermost first; the root is empty."""
    while path:
        path = posixpath.dirname(path)
        yield path


class _WithoutTypes(ElementTree.TreeBuilder):
    """Refuses a document type, and so entities."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError(f"declares the document type {name}")


def _parsed(data: bytes) -> ElementTree.Element | None:
    """Return the root of an XML file; None for one that cannot be read or declares a document type."""
    parser = ElementTree.XMLParser(target=_WithoutTypes())  # noqa: S314 - no type, so no entity that grows
    try:
        return ElementTree.fromstring(data, parser)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError):
        return None


def _project(
    path: str, root: ElementTree.Element | None, inherited: list[tuple[str, ElementTree.Element]]
) -> Project:
    own = [] if root is None else [(path, root)]
    collected: dict[str, list[str]] = defaultdict(list)
    sdks: set[str] = set()
    usings: list[Using] = []
    friends: set[str] = set()
    compiled: list[str] = []
    for place, document in (*own, *inherited):
        known = collected.copy()
        for element in document.iter():
            name = _local(element).lower()
            include = element.get("Include", "")
            if name == "propertygroup":
                for item in element:
                    if _local(item).lower() not in known:  # the project itself is asked first
                        collected[_local(item).lower()].append((item.text or "").strip())
            elif name == "using" and include:
                usings += [Using(one.strip(), place, 1) for one in include.split(";") if one.strip()]
            elif name == "internalsvisibleto" and include:
                friends.add(include.partition(",")[0].strip())
            elif place == path:
                compiled += _compiled(element, name, posixpath.dirname(path))
            sdks |= {one.partition("/")[0].strip().lower() for one in _sdks(element, name)}
    properties = {name: ";".join(texts) for name, texts in collected.items()}
    friends = {_resolved(friend, {**properties, "msbuildprojectname": _stem(path)}) for friend in friends}
    return Project(
        path=path,
        sdks=frozenset(sdks) - {""},
        properties={name: _resolved(text, properties) for name, text in properties.items()},
        usings=tuple(dict.fromkeys(usings)),
        friends=frozenset(friends),
        compiled=tuple(dict.fromkeys(compiled)),
    )


def _sdks(element: ElementTree.Element, name: str) -> Iterator[str]:
    if name in ("project", "import"):
        yield from element.get("Sdk", "").split(";")
    elif name == "sdk":
        yield element.get("Name", "")


def _compiled(element: ElementTree.Element, name: str, folder: str) -> Iterator[str]:
    """Yield files, and folders of files, outside of *folder* that are compiled, too."""
    if name == "compile":
        paths = [path.replace("\\", "/").strip() for path in element.get("Include", "").split(";")]
        outside = [re.split(r"/[^/]*[*?]", path)[0] for path in paths]
    elif name == "import" and element.get("Project", "").lower().endswith(".projitems"):
        outside = [posixpath.dirname(element.get("Project", "").replace("\\", "/"))]
    else:
        return
    for path in outside:
        place = posixpath.normpath(posixpath.join(folder, path))
        is_below = place == folder or not folder or place.startswith(f"{folder}/")
        if not is_below and not place.startswith("..") and "$(" not in place and place != ".":
            yield place


def _resolved(text: str, properties: Mapping[str, str]) -> str:
    """Return *text* with the short properties that it refers to."""
    for _ in range(_MOST_PROPERTIES):
        if "$(" not in text or len(text) > _LONGEST:
            break
        text = _PROPERTY.sub(
            lambda match: (
                value
                if (value := properties.get(match[1].lower())) is not None and len(value) < _SHORT
                else match[0]
            ),
            text,
        )
    return text


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _local(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace; empty for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
