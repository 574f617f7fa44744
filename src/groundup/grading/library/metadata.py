"""What an installed original would leave in site-packages and bin: written from the recipe, no installer."""

import re

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import Distribution

SCRIPTS_GROUP = "console_scripts"
_TARGET = re.compile(r"(?P<module>[\w.]+)\s*:\s*(?P<attribute>[\w.]+)(\s*\[.*\])?")


def metadata_files(distribution: Distribution) -> dict[str, str]:
    """Return the files of the `.dist-info` folder, by relative path."""
    folder = f"{re.sub(r'[-_.]+', '_', distribution.name)}-{distribution.version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {distribution.name}", f"Version: {distribution.version}"]
    lines += [f"{name}: {value}" for name, values in distribution.headers.items() for value in values]
    lines += [f"Requires-Dist: {requirement}" for requirement in distribution.requires]
    files = {f"{folder}/METADATA": "\n".join(lines) + "\n", f"{folder}/INSTALLER": "groundup\n"}
    if distribution.entry_points:
        files[f"{folder}/entry_points.txt"] = "\n".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
            for group, points in distribution.entry_points.items()
        )
    return files


def script_files(distribution: Distribution, executable: str) -> dict[str, str]:
    """Return the programs of the distribution, by name; *executable* is the interpreter that runs them."""
    scripts = distribution.entry_points.get(SCRIPTS_GROUP, {})
    return {name: _script(target, executable) for name, target in scripts.items()}


def _script(target: str, executable: str) -> str:
    found = _TARGET.fullmatch(target.strip())
    if found is None:
        raise TaskError(
            f"{target!r} does not name a program as `module:attribute`; mend the recipe's entry points"
        )
    module, attribute = found["module"], found["attribute"]
    first = attribute.split(".")[0]
    return f"#!{executable}\nimport sys\nfrom {module} import {first}\nsys.exit({attribute}())\n"
