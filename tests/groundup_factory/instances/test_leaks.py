"""What a masked repository still tells of what was taken out."""

from pathlib import Path
from typing import cast

from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.languages.masking import mask_repository
from groundup.manifests.records import DependencyKind, Language
from groundup.suites.dibench.dataset import read_dataset
from groundup_factory.instances.leaks import DependencyAuditor, InstanceReport, with_leaks
from tests.languages.test_masking import FILES, OPTIONAL_CRATE
from tests.suites.dibench.executed import PYTHON, write_tiny


def masked(root: Path, language: Language, *kinds: DependencyKind) -> InstanceReport:
    """Mask the repository at *root*; return what was taken out, and what still tells of it."""
    wanted = kinds or tuple(DependencyKind)
    return with_leaks(mask_repository(root, language=language, kinds=wanted), root, language, wanted)


def test_files_that_install_what_was_masked_are_reported(tmp_path: Path) -> None:
    """In a repository of four languages only what tells of the masked one's dependencies is named."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    report = masked(tmp_path, "python")
    assert {(leak.path, leak.line, leak.name) for leak in report.leaks} == {
        ("tox.ini", 3, "requests"),
        ("Dockerfile", 1, "click"),
    }
    assert list(report.model_dump()) == ["masked", "removed", "refused", "leaks"]


def test_manifests_of_which_nothing_was_masked_are_read_too(tmp_path: Path) -> None:
    """A list of what development needs stays, and may name what was taken out elsewhere."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["requests"]\n')
    (tmp_path / "requirements-dev.txt").write_text("pytest\nrequests\n")
    report = masked(tmp_path, "python", DependencyKind.RUNTIME)
    assert [(leak.path, leak.line, leak.name) for leak in report.leaks] == [
        ("requirements-dev.txt", 2, "requests")
    ]


def test_features_that_name_what_was_masked_are_reported(tmp_path: Path) -> None:
    """A feature's items name optional crates; the report names each line."""
    (tmp_path / "Cargo.toml").write_text(OPTIONAL_CRATE)
    report = masked(tmp_path, "rust", DependencyKind.RUNTIME)
    assert [(leak.line, leak.name) for leak in report.leaks] == [(5, "regex"), (6, "difflib"), (7, "core")]


def test_files_of_a_package_that_a_project_names_are_reported(tmp_path: Path) -> None:
    """The property of a package's folder, and a path in NuGet's cache, still say what was masked."""
    items = [f'<PackageReference Include="{name}" Version="1" />' for name in ("Kit.Tools", "Other.Kit", "Silent")]
    used = '<None Include="$(PkgKit_Tools)/a.dll" />\n<None Include="$(NuGetPackageRoot)\\other.kit\\1\\b.dll" />'
    (tmp_path / "A.csproj").write_text(
        f"<Project><ItemGroup>\n{''.join(items)}\n</ItemGroup>\n<ItemGroup>\n{used}\n</ItemGroup></Project>"
    )
    report = masked(tmp_path, "csharp")
    assert [(leak.name, leak.line) for leak in report.leaks] == [("Kit.Tools", 4), ("Other.Kit", 5)]


async def test_lines_that_name_what_was_masked_are_answers_within_reach(tmp_path: Path) -> None:
    """A Makefile that installs the masked dependency tells it; an instance without such a line tells nothing."""
    telling = PYTHON._replace(masked={**PYTHON.masked, "Makefile": "setup:\n\tpip install shapes\n"})
    problems = {
        one.id: one for one in read_dataset(write_tiny(tmp_path / "data", {"a": PYTHON, "b": telling})).problems
    }
    auditor = DependencyAuditor(problems)

    found = [
        await auditor.answers(
            Task(id=name, suite="dibench", instruction=None, data_version="own"), cast(GradingContext, None)
        )
        for name in ("a", "b")
    ]

    assert found == [[], ["Makefile:2 (shapes)"]]
