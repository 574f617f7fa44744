"""Members of a workspace in JavaScript, which a plain range takes: no registry has to have them."""

from pathlib import Path

import pytest

from groundup.languages.javascript.package_json import PackageJson
from groundup.suites.dibench.registry_check import EditedRepository
from tests.suites.dibench.made import write_tree
from tests.suites.dibench.test_answers import problem

MEMBERS = {
    "packages/m/package.json": '{"name": "@own/m", "version": "2.1.0"}',
    "packages/n/package.json": '{"name": "@own/n", "version": "1.0.0"}',
}


@pytest.mark.parametrize(
    ("root", "asked", "linked"),
    [
        ({"package.json": '{"workspaces": ["packages/*"]}'}, "^2.0.0", True),
        ({"package.json": '{"workspaces": {"packages": ["packages/*"]}}'}, "*", True),
        ({"package.json": "{}", "lerna.json": "{}"}, "^2.0.0", True),
        ({"package.json": '{"workspaces": ["packages/*"]}'}, "^3.0.0", False),
        ({"package.json": "{}"}, "^2.0.0", False),
    ],
)
def test_a_plain_range_is_linked_within_a_workspace(
    tmp_path: Path, root: dict[str, str], asked: str, linked: bool
) -> None:
    """Where the member's version fits, as npm and Yarn do it; without a workspace the registry is asked."""
    found = problem(
        tmp_path, {"package.json": "{}"}, {"package.json": '{"dependencies": {"a": "1"}}'}, "javascript"
    )
    write_tree(found.repository, {**root, **MEMBERS})
    text = f'{{"dependencies": {{"@own/m": "{asked}"}}}}'.encode()
    (item,) = PackageJson().read(text, "packages/n/package.json").dependencies
    repository = EditedRepository(found, found.read)
    assert repository.links(item) is linked
