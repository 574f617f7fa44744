"""Project files: the laws, on generated ones."""

from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.languages.csharp.msbuild import MsBuild
from tests.effort import often
from tests.manifests.span_laws import assert_laws

NAMES = st.from_regex(r"[A-Z][a-z]{0,3}(\.[A-Z][a-z]{0,3})?", fullmatch=True)
CONDITIONS = st.sampled_from(["", " Condition=\"'$(A)' == 'b'\"", " Condition='(true) and ($(X))'"])
OTHERS = st.sampled_from(
    ['<None Include="a;b" />', "<!-- said -->", '<!-- <PackageReference Include="X" /> -->', "<Using Remove='x'/>"]
)
BLANKS = st.sampled_from(["", "\n", "\n    ", "\n\t\t", "  "])


@st.composite
def items(draw: st.DrawFn) -> str:
    """Return an element that declares something."""
    quote = draw(st.sampled_from("\"'"))
    condition = draw(CONDITIONS)
    name = draw(NAMES) + draw(st.sampled_from(["", "", f";{draw(NAMES)}", "&amp;"]))
    version = draw(st.sampled_from(["", f" Version={quote}1.*{quote}", f" Version = {quote}$(V){quote}"]))
    package = f'<PackageReference Include="{name}"'
    return draw(
        st.sampled_from(
            [
                f"<PackageReference Include={quote}{name}{quote}{version}{condition}/>",
                f"<PackageReference{condition}\n      Include={quote}{name}{quote}{version} />",
                f"{package}{condition}>\n<Version>1</Version> <!-- c -->\n</PackageReference>",
                f'{package}><Version Condition="x">1</Version><A>&lt;</A></PackageReference>',
                f"<PackageReference Update={quote}{name}{quote}{version} PrivateAssets='all' />",
                f'<PackageVersion Include="{name}"{version} />',
                f'<GlobalPackageReference Include="{name}"{version}{condition} />',
                f"{package} VersionOverride={quote}[1,2){quote}{condition} />",
                f'<ProjectReference Include="..\\{name}.csproj"{condition} />',
                f'<ProjectReference Include="../{name}.csproj"><Private>false</Private></ProjectReference>',
                f'<Reference Include="{name}, Version=1"><HintPath>..\\x\\{name}.dll</HintPath></Reference>',
                f'<FrameworkReference Include="{name}"{condition} />',
            ]
        )
    )


@st.composite
def groups(draw: st.DrawFn) -> str:
    """Return an ItemGroup, inside a Target or not."""
    children = draw(st.lists(st.one_of(items(), items(), OTHERS), max_size=5))
    condition = draw(CONDITIONS)
    if not children and draw(st.booleans()):
        return f"<ItemGroup{condition}/>"
    body = "".join(draw(BLANKS) + child for child in children)
    group = f"<ItemGroup{condition}>{body}{draw(BLANKS)}</ItemGroup>"
    around = draw(st.sampled_from(["", "", "Target", "Choose"]))
    if around == "Target":
        return f'<Target Name="T"{condition}>{group}</Target>'
    if around == "Choose":
        return f'<Choose><When Condition="w">{group}</When><Otherwise>{group}</Otherwise></Choose>'
    return group


@st.composite
def projects(draw: st.DrawFn) -> bytes:
    """Return the bytes of a project."""
    namespace = draw(st.sampled_from(["", ' xmlns="http://schemas.microsoft.com/developer/msbuild/2003"']))
    body = "".join(draw(BLANKS) + group for group in draw(st.lists(groups(), max_size=4)))
    text = draw(st.sampled_from(["", '<?xml version="1.0"?>\n'])) + f"<Project{namespace}>{body}\n</Project>"
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.replace("\n", newline).encode()


@settings(max_examples=often(200), deadline=None)
@given(projects())
def test_laws(data: bytes) -> None:
    """Whatever form references have, reading, masking, writing and editing keep the laws."""
    assert_laws(MsBuild(), data, "A.csproj")
