"""Which original of a library is taken: its source distribution, or its repository at the release's tag."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.registries.cache import FetchCache
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup_factory.recipes.originals import Original, originals_of, repositories_in, tag_of
from tests.environments.test_git_sources import git
from tests.grading.library.laboratory import write_tree
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel, serving
from tests.sandbox.fake import FakeProvider

PAGE = "Metadata-Version: 2.1\nName: calc\nVersion: {}\nProject-URL: Source, https://gitlab.invalid/some/calc\n"
TEST = "def test_one(): pass\n"
TREE = {
    "pyproject.toml": '[project]\nname = "calc"\ndynamic = ["version"]\n',
    "calc/__init__.py": "from calc._version import version\n",
    "tests/test_a.py": TEST + "def test_two(): pass\n",
}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("Home-page: https://github.com/a/b", ["github.com/a/b"]),
        (
            "Project-URL: Docs, https://gitlab.com/x/y/z/-/wikis\nProject-URL: Source, http://www.github.com/a/b.git",
            ["github.com/a/b", "gitlab.com/x/y/z"],
        ),
        ("Project-URL: Bug Tracker, https://github.com/a/b.c/actions/", ["github.com/a/b.c"]),
        ("Project-URL: Code, https://github.com/a/b/tree/main/sdk#readme", ["github.com/a/b"]),
        ("Project-URL: Funding, https://github.com/sponsors/a\nHome-page: https://a.org/b/c", []),
        (
            "\nFork of https://github.com/c/d.\n    git clone https://github.com/a/My_Lib.git\n",
            ["github.com/a/My_Lib"],
        ),
    ],
)
def test_the_repository_is_what_metadata_name(lines: str, found: list[str]) -> None:
    """An address with the label of a source comes first; pages of a forge lead to their repository."""
    assert repositories_in(f"Name: my-lib\n{lines}", "my-lib") == found


@pytest.mark.parametrize(
    ("version", "tags", "found"),
    [
        ("1.2", ["v1.1", "v1.2", "other-1.2"], "v1.2"),
        ("1.2", ["1.2.0", "v1.2.1"], "1.2.0"),
        ("1.2", ["my-Lib-v1.2"], "my-Lib-v1.2"),
        ("1.2", ["my_lib@1.2", "my_lib@1.20"], "my_lib@1.2"),
        ("1.2", ["release_1_2"], "release_1_2"),
        ("1.2", ["rel/1.2"], "rel/1.2"),
        ("1.2rc1", ["v1.2-rc.1", "v1.2"], "v1.2-rc.1"),
        ("1.2", ["v1.2-beta", "v12"], None),
    ],
)
def test_the_tag_of_a_release_is_found_however_it_is_spelled(
    version: str, tags: list[str], found: str | None
) -> None:
    """Prefixes are the name, or words for a release; another project's tag of the same version is not taken."""
    assert tag_of("my-lib", version, tags) == found


class Made:
    """An index with a package, and a mirror with its repository."""

    def __init__(self, index: FakeIndex, folder: Path) -> None:
        self.index = index
        self.settings = Settings(cache_dir=folder / "cache", git_mirror=f"{folder}/mirror")
        self.repository = folder / "mirror" / "gitlab.invalid" / "some" / "calc"
        self.said: list[str] = []
        self._folder = folder

    async def tag(self, *names: str, **files: str) -> None:
        """Commit the tree with *files* and tag it."""
        write_tree(self.repository, {**TREE, **files})
        await git(self.repository, "init", "--quiet", "-b", "main", ".")
        await git(self.repository, "add", ".")
        await git(self.repository, "commit", "--quiet", "-m", "x")
        for name in names:
            await git(self.repository, "tag", "-a", "-m", "x", name)

    async def originals(self, source: str = "sdist:calc") -> list[Original]:
        """Look for the originals."""
        registry = PyPIClient(self.index.configuration(), FetchCache(self._folder / "registry"))
        provider = FakeProvider()
        builder = LocalBuilder(self.settings, provider, self.index.configuration())
        context = GradingContext(provider=provider, builder=builder, scratch=self._folder)
        try:
            return await originals_of(source, context, registry, self.settings, self.said.append)
        finally:
            await registry.close()


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """An index on loopback and a mirror, empty."""
    with serving() as index:
        yield Made(index, tmp_path)


@pytest.mark.needs("git")
async def test_the_fuller_original_comes_first(made: Made) -> None:
    """A tag with more tests comes before the upload, with its release's version and what the build wrote."""
    written = {"PKG-INFO": PAGE.format("1.2"), "calc/_version.py": "version = '1.2'\n", "test_a.py": TEST}
    made.index.add(make_sdist("calc", "1.2", files={**written, "calc/__init__.py": ""}))
    await made.tag("v1.2")

    first, second = await made.originals()

    assert (first.candidate.request.kind, second.candidate.request.kind) == ("git", "sdist")
    assert (first.project.version, first.written) == ("1.2", {"calc/_version.py": "version = '1.2'\n"})
    assert first.candidate.date.startswith("2020-01-01")


@pytest.mark.needs("git")
async def test_a_wheel_leads_to_the_repository_and_a_lost_tag_to_an_older_release(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release without a source distribution is found by what its wheel says, at the newest that has a tag.

    Git's own `insteadOf` is heeded where no mirror is set.
    """
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{made.settings.git_mirror}/gitlab.invalid/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://gitlab.invalid/")
    made.settings = made.settings.but(git_mirror=None)
    for version in ("1.1", "1.2"):
        wheel = make_wheel("calc", version)
        made.index.add(wheel)
        made.index.metadata[wheel[0]] = PAGE.format(version).encode()
    await made.tag("calc-1.1")

    (found,) = await made.originals()

    assert found.candidate.label == "git:gitlab.invalid/some/calc@calc-1.1"
    assert any("has no tag of 1.2" in line for line in made.said)
    with pytest.raises(TaskError, match=r"has no tag of 1\.2, only such as calc-1\.1"):
        await made.originals("sdist:calc==1.2")


@pytest.mark.needs("git")
async def test_without_any_tag_the_newest_commit_counts_if_it_declares_the_version(made: Made) -> None:
    """Authors who tag nothing still say what they release."""
    made.index.add(make_sdist("calc", "1.2", files={"PKG-INFO": PAGE.format("1.2")}))
    await made.tag(**{"pyproject.toml": '[project]\nname = "calc"\nversion = "1.2"\n'})
    (found,) = await made.originals()

    assert found.candidate.label == "git:gitlab.invalid/some/calc@HEAD"
    await made.tag(**{"pyproject.toml": '[project]\nname = "calc"\nversion = "1.3"\n'})
    with pytest.raises(TaskError, match=r"has no tag of 1\.2$"):
        await made.originals()


@pytest.mark.needs("git")
async def test_without_a_way_to_the_host_one_sentence_says_so(made: Made) -> None:
    """It is tried again where tests can be nowhere else, and told where the upload has some."""
    made.index.add(make_sdist("calc", "1.2", files={"PKG-INFO": PAGE.format("1.2")}))
    made.index.add(make_sdist("calc", "1.1", files={"PKG-INFO": PAGE.format("1.1"), "test_a.py": TEST}))
    with pytest.raises(NetworkError, match=r"holds no tests, and gitlab\.invalid/some/calc cannot be asked"):
        await made.originals()

    (found,) = await made.originals("sdist:calc==1.1")

    assert found.candidate.request.kind == "sdist"
    assert any("only the source distribution is tried" in line for line in made.said)


@pytest.mark.needs("git")
async def test_a_part_of_a_larger_repository_is_not_taken_for_it(made: Made) -> None:
    """Tests of another project under the same tag are no tests of this one."""
    made.index.add(make_sdist("calc", "1.2", files={"PKG-INFO": PAGE.format("1.2")}))
    await made.tag("v1.2", **{"pyproject.toml": '[project]\nname = "whole"\n'})

    with pytest.raises(TaskError, match="is of whole at its root"):
        await made.originals()
