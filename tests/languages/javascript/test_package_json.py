"""package.json: what is declared in every form, and edits that touch nothing else."""

import pytest

from groundup.languages.formats import format_of
from groundup.languages.javascript.package_json import PackageJson, parse_specifier, render_specifier, selected
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from tests.manifests.span_laws import assert_laws

NPM = PackageJson()
PATH = "packages/a/package.json"

EVERYTHING = b"""\
{
  "name": "a",
  "workspaces": { "packages": ["packages/*"], "catalog": { "zod": "^3" }, "catalogs": { "old": { "zod": "^2" } } },
  "dependencies": {
    "react": "^18.2.0",
    "alias": "npm:@scope/real@~1.2",
    "near": "file:../near",
    "linked": "link:../linked",
    "sibling": "workspace:^1.0",
    "shared": "catalog:",
    "forked": "git+ssh://git@example.org/forked.git#v1",
    "hosted": "user/repo#semver:^2",
    "tarball": "https://example.org/t.tgz"
  },
  "devDependencies": { "jest": "29", "typescript": "" },
  "peerDependencies": { "react": ">=17", "vue": "3" },
  "peerDependenciesMeta": { "vue": { "optional": true }, "unused": {} },
  "optionalDependencies": {"fsevents":"*"},
  "bundledDependencies": ["near", "linked"],
  "overrides": { "foo": { ".": "1", "bar": "$react" }, "baz@1": "2" },
  "resolutions": { "**/@scope/qux": "1" },
  "pnpm": { "overrides": { "a>b": "1" }, "onlyBuiltDependencies": ["esbuild"] },
  "scripts": {   "test" : "jest"  }
}
"""


def declared(data: bytes) -> dict[tuple[str, str], Dependency]:
    """Return the dependencies by group, or else kind, and name."""
    return {(item.group or item.kind, item.name): item for item in NPM.read(data, PATH).dependencies}


def test_reads_every_form() -> None:
    """Ranges, aliases, paths, workspaces, catalogs, repositories and tarballs have their own sources."""
    found = declared(EVERYTHING)
    sources = {name: item.source for (kind, name), item in found.items() if kind == "runtime"}
    assert sources == {
        "react": DependencySource.REGISTRY,
        "@scope/real": DependencySource.REGISTRY,
        "near": DependencySource.PATH,
        "linked": DependencySource.PATH,
        "sibling": DependencySource.WORKSPACE,
        "shared": DependencySource.WORKSPACE,
        "forked": DependencySource.GIT,
        "hosted": DependencySource.GIT,
        "tarball": DependencySource.URL,
    }
    assert (found["runtime", "@scope/real"].alias, found["runtime", "@scope/real"].constraint) == ("alias", "~1.2")
    assert found["runtime", "sibling"].constraint == "^1.0"
    assert found["dev", "typescript"].constraint == ""
    assert found["peer", "vue"].details == (("optional", "true"),)
    assert found["optional", "fsevents"].kind is DependencyKind.OPTIONAL


def test_reads_what_names_packages_besides() -> None:
    """Overrides, resolutions, catalogs and lists of names are declarations of their own kinds."""
    found = declared(EVERYTHING)
    assert found["overrides", "foo"].details == (("value", '{".":"1","bar":"$react"}'),)
    assert found["overrides", "baz"].details == (("selector", "baz@1"),)
    assert found["resolutions", "@scope/qux"].constraint == "1"
    assert found["pnpm.overrides", "b"].kind is DependencyKind.OVERRIDE
    assert found["workspaces.catalogs.old", "zod"].kind is DependencyKind.CONSTRAINT
    assert found["bundledDependencies", "near"].kind is DependencyKind.GROUP
    assert [note.target for note in NPM.read(EVERYTHING, PATH).notes] == ["packages/*"]


def test_laws_on_every_form() -> None:
    """All laws hold for one file with everything in it: with CRLF, BOM, tabs, and on one line."""
    for data in (
        EVERYTHING,
        b"\xef\xbb\xbf" + EVERYTHING.replace(b"\n", b"\r\n"),
        EVERYTHING.replace(b"  ", b"\t"),
        b" ".join(line.strip() for line in EVERYTHING.splitlines()),
        EVERYTHING.decode().encode("utf-8-sig"),
    ):
        assert_laws(NPM, data, PATH, most_removed=40)


def test_mask_empties_objects_and_nothing_else() -> None:
    """Every object and array that names packages is emptied in place; the rest keeps its bytes."""
    masked = NPM.mask(EVERYTHING, PATH).decode()
    assert '"dependencies": {},\n  "devDependencies": {},\n  "peerDependencies": {},\n' in masked
    assert '"peerDependenciesMeta": {},' in masked
    assert '"bundledDependencies": [],\n  "overrides": {},\n' in masked
    assert '"packages": ["packages/*"], "catalog": {}, "catalogs": { "old": {} } }' in masked
    assert '  "scripts": {   "test" : "jest"  }\n}\n' in masked


def test_a_key_written_twice_counts_once_and_leaks_nowhere() -> None:
    """Readers take the last of two objects with one key: so does `read`; a mask empties both."""
    data = b'{"dependencies": {"a": "1", "b": "1", "a": "2"}, "dependencies": {"c": "1", "c": "3"}}'
    assert [(item.name, item.constraint) for item in NPM.read(data, PATH).dependencies] == [("c", "3")]
    assert NPM.mask(data, PATH) == b'{"dependencies": {}, "dependencies": {}}'
    assert NPM.write(data, (), PATH) == b'{"dependencies": {"a": "1", "b": "1", "a": "2"}, "dependencies": {}}'


def test_adds_in_the_style_of_the_file() -> None:
    """New members are laid out like their neighbours; a missing object is made at the end, in the file's style."""
    data = b'{\r\n\t"name": "a",\r\n\t"dependencies": {\r\n\t\t"b": "1"\r\n\t}\r\n}\r\n'
    new = [
        Dependency(language="javascript", name="c", normalised="c", constraint="^2"),
        Dependency(language="javascript", name="d", normalised="d", constraint="^3", kind=DependencyKind.DEV),
        Dependency(
            language="javascript", name="e", normalised="e", constraint="4", kind=DependencyKind.PEER,
            details=(("optional", "true"),),
        ),
    ]  # fmt: skip
    assert NPM.write(data, [*NPM.read(data, PATH).dependencies, *new], PATH) == (
        b'{\r\n\t"name": "a",\r\n\t"dependencies": {\r\n\t\t"b": "1",\r\n\t\t"c": "^2"\r\n\t},\r\n'
        b'\t"devDependencies": {\r\n\t\t"d": "^3"\r\n\t},\r\n'
        b'\t"peerDependencies": {\r\n\t\t"e": "4"\r\n\t},\r\n'
        b'\t"peerDependenciesMeta": {\r\n\t\t"e": {\r\n\t\t\t"optional": true\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


@pytest.mark.parametrize("blank", ["", " ", "  "])
def test_adds_in_a_line_as_the_line_is_written(blank: str) -> None:
    """A file of one line stays one, with as many blanks behind commas and colons as it has."""
    text = '{"name":~"a",~"dependencies":~{"b":~"1"%s}}'
    new = Dependency(language="javascript", name="c", normalised="c", constraint="2")
    before, after = ((text % more).replace("~", blank).encode() for more in ("", ',~"c":~"2"'))
    assert NPM.write(before, [*NPM.read(before, PATH).dependencies, new], PATH) == after


def test_restores_a_masked_file_exactly() -> None:
    """What npm itself writes comes back byte for byte when a masked file gets its dependencies again."""
    data = (
        b'{\n  "name": "a",\n  "dependencies": {\n    "b": "1",\n    "c": "2"\n  },\n'
        b'  "peerDependencies": {\n    "d": "1"\n  },\n'
        b'  "peerDependenciesMeta": {\n    "d": {\n      "optional": true\n    }\n  },\n  "type": "module"\n}\n'
    )
    assert NPM.write(NPM.mask(data, PATH), NPM.read(data, PATH).dependencies, PATH) == data


def test_empty_values_count_as_nothing() -> None:
    """`null` and `[]` where an object belongs declare nothing, and give way to an object."""
    data = b'{"dependencies": null, "devDependencies": []}'
    new = Dependency(language="javascript", name="a", normalised="a", constraint="1")
    assert NPM.read(data, PATH).dependencies == ()
    assert NPM.mask(data, PATH) == data
    assert NPM.write(data, [new], PATH) == b'{"dependencies": {"a": "1"}, "devDependencies": []}'


@pytest.mark.parametrize(
    ("data", "line", "text"),
    [
        (b'{\n"a": 1,}\n', 2, "not valid JSON"),
        (b'{\n"a": 1,\n"b": 2,\n}\n', 3, "not valid JSON"),
        (b'{\n"a": 1\n\n"b": 2}\n', 2, "not valid JSON"),
        (b'{\n"a": 1,\nb: 2}\n', 3, "not valid JSON"),
        (b'{\n// c\n"a": 1}', 2, "not valid JSON"),
        (b'{"a": NaN}', 1, "NaN"),
        (b"[]", 1, "does not hold a JSON object"),
        (b'{\n"dependencies": ["a"]}', 2, "must be an object"),
        (b'{"dependencies": {\n"a": 1}}', 2, "must be a string"),
        (b'{\n"overrides": "a"}', 2, "must be an object"),
        (b'{\n"peerDependenciesMeta": 1}', 2, "must be an object"),
        (b'{"bundledDependencies": [\n1]}', 2, "must hold names"),
        (b'{"name":\n"\xff"}', 2, "UTF-8"),
        (b'{"name":\n"\\ud800"}', 2, "surrogate"),
        (b'{"a":' * 400 + b"1" + b"}" * 400, 1, "levels deep"),
        (b'{"a":' * 200_000, 1, ""),
        (b"", 1, "not valid JSON"),
    ],
)
def test_malformed_files_name_file_and_line(data: bytes, line: int, text: str) -> None:
    """A file that cannot be understood is one clear error with its path and line."""
    with pytest.raises(ManifestError) as caught:
        NPM.read(data, PATH)
    assert str(caught.value).startswith(PATH)
    assert text in str(caught.value)
    assert caught.value.line in (line, None)


def test_a_kind_without_a_place_is_refused() -> None:
    """package.json has no build dependencies: said, not silently dropped."""
    new = Dependency(language="javascript", name="a", normalised="a", kind=DependencyKind.BUILD)
    with pytest.raises(ManifestError, match="no place for 'a'"):
        NPM.write(b"{}", [new], PATH)


def test_is_found_by_name() -> None:
    """package.json is recognised; the files of package managers beside it are not."""
    found = format_of(PATH)
    assert found is not None
    assert found.name == "package.json"
    assert format_of("package-lock.json") is None


@pytest.mark.parametrize(
    ("text", "source", "name", "constraint", "origin", "alias"),
    [
        ("", "registry", "a", "", "", ""),
        ("^1", "registry", "a", "^1", "", ""),
        ("latest", "registry", "a", "latest", "", ""),
        ("1.x || 2", "registry", "a", "1.x || 2", "", ""),
        ("~1.0", "registry", "a", "~1.0", "", ""),
        ("npm:b", "registry", "b", "", "", "a"),
        ("npm:@s/b@^1", "registry", "@s/b", "^1", "", "a"),
        ("npm:b@", "registry", "b", "", "", "a"),
        ("workspace:*", "workspace", "a", "*", "workspace:*", ""),
        ("workspace:^1", "workspace", "a", "^1", "workspace:^1", ""),
        ("workspace:b@1", "workspace", "b", "1", "workspace:b@1", "a"),
        ("workspace:../b", "workspace", "a", "", "workspace:../b", ""),
        ("catalog:", "workspace", "a", "", "catalog:", ""),
        ("catalog:old", "workspace", "a", "", "catalog:old", ""),
        ("file:../b", "path", "a", "", "file:../b", ""),
        ("link:b", "path", "a", "", "link:b", ""),
        ("portal:b", "path", "a", "", "portal:b", ""),
        ("./b", "path", "a", "", "./b", ""),
        ("..", "path", "a", "", "..", ""),
        ("../b", "path", "a", "", "../b", ""),
        (".\\b", "path", "a", "", ".\\b", ""),
        ("~/b", "path", "a", "", "~/b", ""),
        ("/b", "path", "a", "", "/b", ""),
        ("C:\\b", "path", "a", "", "C:\\b", ""),
        ("github:u/r", "git", "a", "", "github:u/r", ""),
        ("gist:1", "git", "a", "", "gist:1", ""),
        ("u/r", "git", "a", "", "u/r", ""),
        ("u/r#x", "git", "a", "", "u/r#x", ""),
        ("git+https://x/y.git", "git", "a", "", "git+https://x/y.git", ""),
        ("git@x:y", "git", "a", "", "git@x:y", ""),
        ("ssh://x", "git", "a", "", "ssh://x", ""),
        ("https://x/y.git#v1", "git", "a", "", "https://x/y.git#v1", ""),
        ("https://github.com/u/r", "git", "a", "", "https://github.com/u/r", ""),
        ("https://github.com/u/r/t.tgz", "url", "a", "", "https://github.com/u/r/t.tgz", ""),
        ("http://x/y.tgz", "url", "a", "", "http://x/y.tgz", ""),
        ("jsr:^1", "url", "a", "", "jsr:^1", ""),
        ("@u/r", "registry", "a", "@u/r", "", ""),
        ("a/b/c", "registry", "a", "a/b/c", "", ""),
    ],
)
def test_each_form_of_a_specifier(
    text: str, source: str, name: str, constraint: str, origin: str, alias: str
) -> None:
    """What is nothing else is a range or a tag; and each is written as it was."""
    found = parse_specifier("a", text)
    assert tuple(found) == (source, name, constraint, origin, alias)
    assert render_specifier(found) == ("a", text.removesuffix("@"))


@pytest.mark.parametrize(
    ("selector", "package"),
    [
        ("a", "a"),
        ("a@1", "a"),
        ("@s/a@1", "@s/a"),
        ("a>b", "b"),
        ("a@1>@s/b@2", "@s/b"),
        ("**/b", "b"),
        ("**/@s/b", "@s/b"),
        ("a/**/b", "b"),
        ("a/b", "b"),
        ("@s/a/b", "b"),
        ("@s", "@s"),
        ("", ""),
    ],
)
def test_a_selector_ends_with_its_package(selector: str, package: str) -> None:
    """Without its version, whatever leads to it."""
    assert selected(selector) == package
