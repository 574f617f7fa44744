"""Making one DI-Bench instance of a repository: its dependencies taken out, and the patch that puts them back.

Knows nothing of how a job is found (`locating`) or executed (`grading`).
"""

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path

from groundup.curation.diffs import file_diff
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.manifests.leaks import MaskedFile, MaskReport, mask_repository
from groundup.manifests.records import Kind, Language
from groundup.suites.dibench.instances import Instance, Metadata
from groundup.suites.dibench.patches import PatchError, apply_to_file, parse_patch

MASKED_KINDS: Mapping[Language, frozenset[Kind]] = {
    "python": frozenset({Kind.RUNTIME}),
    "javascript": frozenset({Kind.RUNTIME}),
    "rust": frozenset({Kind.RUNTIME, Kind.CONSTRAINT}),
    "csharp": frozenset({Kind.RUNTIME, Kind.CONSTRAINT}),
}
"""What is taken out unless somebody says otherwise. `[workspace.dependencies]` and central package versions name
what the members need, so they go with it; catalogs of pnpm also hold the tools that tests need, so they stay."""

_SDK = {"python": "Python", "rust": "Rust", "javascript": "Node.js", "csharp": ".NET"}


class Job(Record):
    """Which job of which workflow file runs the tests, in which leg of its matrix."""

    workflow: str
    name: str
    leg: dict[str, str] = {}

    @property
    def act_command(self) -> str:
        """The command line of act that runs it, as the published instances write it."""
        pins = "".join(f" --matrix {shlex.quote(f'{key}:{value}')}" for key, value in self.leg.items())
        return f"act -j {shlex.quote(self.name)}{pins} -W {shlex.quote(self.workflow)}"


class Made(Record):
    """An instance, with what its maker saw while masking."""

    instance: Instance
    report: MaskReport


def make_instance(  # a problem has this many sides, and they belong to nobody else
    original: Path,
    masked: Path,
    language: Language,
    job: Job,
    *,
    name: str,
    metadata: Metadata,
    kinds: Collection[Kind] | None = None,
    runner: str = "ubuntu-latest",
) -> Made:
    """Write the masked copy of the repository at *original* into the new folder *masked*; return its instance.

    Raises `TaskError` when nothing is declared, a manifest cannot be understood, or the patch would not restore
    it.
    """
    report = mask_repository(original, masked, language, kinds or MASKED_KINDS[language])
    if report.refused:
        raise TaskError(f"{name} cannot be masked: {report.refused[0]}; take another commit, or fix the manifest")
    changed = [item for item in report.masked if _differs(original, masked, item)]
    if not changed:
        raise TaskError(f"{name} declares nothing that could be masked in {language}; name another language")
    instance = Instance(
        instance_id=name,
        metadata=metadata,
        language=language,
        act_command=job.act_command,
        ci_file=job.workflow,
        patch=_patch(original, masked, changed, name),
        build_files=tuple(item.path for item in changed),
        env_specs=_specifications(language, job, runner),
    )
    return Made(instance=instance, report=report)


def _differs(original: Path, masked: Path, item: MaskedFile) -> bool:
    return (original / item.path).read_bytes() != (masked / item.path).read_bytes()


def _patch(original: Path, masked: Path, changed: Collection[MaskedFile], name: str) -> str:
    """Return the diff from the masked build files to the original ones, and prove that it restores them."""
    whole = b""
    for item in changed:
        old, new = (masked / item.path).read_bytes(), (original / item.path).read_bytes()
        diff = file_diff(item.path, old, new)
        try:
            restored = apply_to_file(parse_patch(diff)[0], old)
        except PatchError as error:
            raise TaskError(f"{name}: the patch of {item.path} does not fit ({error}); report it") from error
        if restored != new:
            raise TaskError(f"{name}: the patch of {item.path} does not restore it; report it")
        whole += diff
    try:
        return whole.decode()
    except UnicodeDecodeError as error:
        raise TaskError(
            f"{name}: a build file is not UTF-8, which an instance cannot hold; leave it out"
        ) from error


def _specifications(language: Language, job: Job, runner: str) -> dict[str, str]:
    """Return what the published data tell of the environment: operating system and SDK."""
    versions = [value for key, value in job.leg.items() if any(word in key for word in _VERSION_KEYS[language])]
    return {"OS": runner, "SDK": f"{_SDK[language]} {versions[0]}" if versions else _SDK[language]}


_VERSION_KEYS: Mapping[Language, tuple[str, ...]] = {
    "python": ("python", "py", "version"),
    "rust": ("rust", "toolchain", "version"),
    "javascript": ("node", "version"),
    "csharp": ("dotnet", "framework", "version"),
}
