"""What speaks for C# packages outside of the code: properties, files of a package's own, rules, commands."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch

from groundup_infer.csharp_packages import traces
from groundup_infer.csharp_projects import Project
from groundup_infer.csharp_references import Use

_RULE = re.compile(r"dotnet_diagnostic\.([A-Za-z]+\d+)|\bId\s*=\s*\"([A-Za-z]+\d+)\"")
_RULES = (".editorconfig", ".globalconfig", ".ruleset")
_COMMANDS = (".yml", ".yaml", ".ps1", ".sh", ".cake", ".cmd", ".runsettings")
_FODY = "fodyweavers.xml"
_WEAVER = re.compile(r"<\s*([A-Z]\w{1,80})")


class ProjectSettings:
    """The settings of a repository, each for the projects in and below its folder."""

    def __init__(self, manifests: Mapping[str, bytes]) -> None:
        self._found: list[tuple[str, str, Use]] = []
        self._called: list[tuple[str, str, Use]] = []
        for path, data in manifests.items():
            name = posixpath.basename(path).lower()
            use = Use(path, 1, posixpath.basename(path))
            self._found += [(package, _folder_of(path), use) for package in _packages_of(name, data)]
            self._called += [(package, _folder_of(path), use) for package, use in _called_in(path, data)]
        texts = (data for path, data in manifests.items() if posixpath.basename(path) == "global.json")
        self.has_platform = any(b"Microsoft.Testing.Platform" in data for data in texts)
        """Whether `dotnet test` starts test programs by themselves, without adapters."""

    def of(self, project: Project) -> Iterator[tuple[str, Use]]:
        """Yield what speaks for packages of *project*."""
        for sign, ones in traces("property").items():
            if sign.lower() in project.properties:
                yield from ((trace.package, Use(project.path or ".", 1, sign)) for trace in ones)
        for sdk in project.sdks & traces("sdk").keys():
            yield from ((trace.package, Use(project.path, 1, sdk)) for trace in traces("sdk")[sdk])
        yield from _those_for(project, self._found)

    def commands_of(self, project: Project) -> Iterator[tuple[str, Use]]:
        """Yield what commands that test, such as those of CI, want of *project*, one with tests."""
        yield from _those_for(project, self._called)


def _those_for(project: Project, found: Iterable[tuple[str, str, Use]]) -> Iterator[tuple[str, Use]]:
    for package, folder, use in found:
        if not folder or project.folder == folder or project.folder.startswith(f"{folder}/"):
            yield package, use


def _called_in(path: str, data: bytes) -> Iterator[tuple[str, Use]]:
    """Yield the packages that commands in a file name, with the line that does."""
    if not path.lower().endswith(_COMMANDS):
        return
    text = data.decode("utf-8", "replace")
    for sign, ones in traces("command").items():
        if (at := text.find(sign)) >= 0:
            use = Use(path, text.count("\n", 0, at) + 1, sign)
            yield from ((trace.package, use) for trace in ones)


def _folder_of(path: str) -> str:
    """Return the folder whose projects a setting is for: what lies in `.github` and the like is for all."""
    folder = posixpath.dirname(path)
    return "" if folder.startswith(".") else folder


def _packages_of(name: str, data: bytes) -> Iterator[str]:
    """Yield the packages that a file of this name, in lower case, speaks for."""
    text = data.decode("utf-8", "replace")
    for sign, ones in traces("file").items():
        if fnmatch(name, sign.lower()):
            yield from (trace.package for trace in ones if trace.beside.lower() in text.lower())
    if name.endswith(_RULES):
        rules = {one or two for one, two in _RULE.findall(text)}
        for sign, ones in traces("rule").items():
            if any(rule.startswith(sign) and rule[len(sign) :].isdigit() for rule in rules):
                yield from (trace.package for trace in ones)
    if name == _FODY:
        yield "Fody"
        yield from (f"{weaver}.Fody" for weaver in _WEAVER.findall(text) if weaver != "Weavers")
