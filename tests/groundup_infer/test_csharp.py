"""C#: packages and references between projects, from source code and what project files say besides."""

import pytest

from groundup_infer.csharp_files import csharp_imports
from groundup_infer.records import Inference, InferredKind, InferredProject
from tests.groundup_infer.trees import inferred, names

SETTINGS = "<PropertyGroup><TargetFramework>{}</TargetFramework></PropertyGroup>"
LIBRARY = f'<Project Sdk="Microsoft.NET.Sdk">{SETTINGS}</Project>'
NET = LIBRARY.format("net9.0")


def project(found: Inference, name: str) -> InferredProject:
    """Return what is said of the project whose file is called *name*."""
    return next(one for one in found.projects if one.path.endswith(f"/{name}.csproj"))


def packages(found: Inference, name: str) -> set[str]:
    """Return the packages of the project whose file is called *name*."""
    return {one.name for one in project(found, name).dependencies}


def references(found: Inference, name: str) -> list[str]:
    """Return the projects that the one whose file is called *name* refers to."""
    return [one.path for one in project(found, name).references]


def alone(project_file: str, source: str, **others: str) -> set[str]:
    """Return the packages of a repository's only project."""
    more = {name.replace("__", "/").replace("_", "."): text for name, text in others.items()}
    return packages(
        inferred("csharp", {"src/App/App.csproj": project_file, "src/App/A.cs": source, **more}), "App"
    )


def test_every_form_of_using_is_found() -> None:
    """Plain, static, alias and global usings name namespaces; using statements do not."""
    source = (
        b"global using Serilog;\nusing static Moq.It;\nusing Json = Newtonsoft.Json.Linq;\nusing System;\n"
        b"namespace My.App;\nclass A { void F() { using var x = new Y(); using (var z = x) {} } }\n"
    )
    found = csharp_imports(source)
    assert found.usings == [("Serilog", 1), ("Moq.It", 2), ("Newtonsoft.Json.Linq", 3), ("System", 4)]
    assert found.shared == {"Serilog"}
    assert found.namespaces == {"My.App"}


def test_types_and_extension_methods_are_found() -> None:
    """What other projects can mention: types of every kind, and methods whose first parameter has `this`."""
    source = (
        b"namespace A { class C { void Not(ref int x) {} } record R(int X); enum E { One } delegate void D();\n"
        b"static class S { public static void Add(this C c) {} static void Plain(C c) {} } interface I {}"
        b"struct T {}"
    )
    assert csharp_imports(source).types == {"C", "R", "E", "D", "S", "Add", "I", "T"}


def test_known_namespaces_become_packages_and_others_are_listed() -> None:
    """The framework and the repository's own namespaces need no package; what is unknown is not guessed."""
    found = inferred(
        "csharp",
        {
            "src/App/A.cs": "using System.Text;\nusing Newtonsoft.Json.Linq;\nusing My.Core;\nusing Odd.Thing;\n"
            "namespace My.App { class A {} }",
            "src/Core/B.cs": "using Microsoft.EntityFrameworkCore;\nnamespace My.Core;",
            "src/App/Page.razor": "@using MudBlazor\n<p>text</p>\n",
            "tests/App.Tests/T.cs": "using Xunit;\nusing My.App;\nnamespace My.App.Tests;",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"Newtonsoft.Json", "Microsoft.EntityFrameworkCore", "MudBlazor"}
    assert names(found, InferredKind.DEV) == {"xunit"}
    assert found.unknown == ("Odd.Thing",)
    assert any("Analyzers" in sentence for sentence in found.cannot_know)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("using Xunit;\nclass T { [Fact] void A() {} }", {"xunit", "xunit.runner.visualstudio"}),
        ("using Xunit;\nusing Xunit.Abstractions;\nclass T { [Fact] void A() {} }", {"xunit"}),
        ("using Xunit;\nclass T { [Fact] void A() { TestContext.Current; } }", {"xunit.v3"}),
        ("using NUnit.Framework;\nclass T { [Test] void A() {} }", {"NUnit", "NUnit3TestAdapter"}),
        (
            "using Microsoft.VisualStudio.TestTools.UnitTesting;\nclass T { [TestMethod] void A() {} }",
            {"MSTest.TestFramework", "MSTest.TestAdapter"},
        ),
    ],
)
def test_tests_bring_what_runs_them(source: str, expected: set[str]) -> None:
    """Without the adapter and the SDK of tests `dotnet test` finds none; parts of a framework are no packages."""
    found = alone(NET, source)
    assert expected | {"Microsoft.NET.Test.Sdk"} <= found
    assert not {"xunit.abstractions", "xunit.assert", "xunit.core"} & found


def test_a_test_framework_that_a_setting_opens() -> None:
    """`<Using Include="Xunit" />` speaks as a using does, and attributes speak where nothing else does."""
    opened = NET.replace("</Project>", '<ItemGroup><Using Include="Xunit" /></ItemGroup></Project>')
    assert "xunit" in alone(opened, "class T { [Fact] void A() {} }")
    assert "TUnit" in alone(NET, "class T { [Test] void A() {} }")
    assert "Microsoft.NET.Test.Sdk" not in alone(NET, "class T { [Test] void A() {} }")


def test_the_test_platform_takes_no_adapter() -> None:
    """Where global.json says that test programs run themselves, the third xunit comes as one package."""
    platform = '{"test": {"runner": "Microsoft.Testing.Platform"}}'
    found = alone(NET, "using Xunit;\nclass T { [Fact] void A() {} }", global_json=platform)
    assert found == {"xunit.v3.mtp-v2"}


def test_what_a_package_brings_is_not_declared_again() -> None:
    """A namespace of a package that another one brings along needs no reference of its own."""
    source = "using MongoDB.Driver;\nusing MongoDB.Bson;\nusing Serilog;\nclass A {}"
    assert alone(NET, source) == {"MongoDB.Driver", "Serilog"}


def test_identifiers_name_packages_that_share_a_namespace() -> None:
    """An extension method in a namespace of many packages tells which one; one of the repository tells none."""
    web = NET.replace("Microsoft.NET.Sdk", "Microsoft.NET.Sdk.Web")
    source = "using Microsoft.EntityFrameworkCore;\nclass A { void F(B o) { o.UseSqlServer(x); } }"
    assert alone(web, source) == {"Microsoft.EntityFrameworkCore.SqlServer"}
    assert "Scalar.AspNetCore" in alone(web, "class A { void F() { app.MapScalarApiReference(); } }")
    own = "static class B { static void MapScalarApiReference(this A a) {} }"
    assert alone(web, "class A { void F() { this.MapScalarApiReference(); } }", src__App__B_cs=own) == set()


def test_the_framework_of_the_web_needs_no_packages() -> None:
    """With the web's SDK nothing of ASP.NET Core is a package; another project refers to its framework."""
    source = "using Microsoft.AspNetCore.Http;\nusing Microsoft.Extensions.Logging;\nclass A {}"
    assert alone(NET.replace("Microsoft.NET.Sdk", "Microsoft.NET.Sdk.Web"), source) == set()
    assert alone(NET, source) == {"Microsoft.AspNetCore.App"}
    assert alone(NET, "using Microsoft.Extensions.Logging;\nclass A {}") == {
        "Microsoft.Extensions.Logging.Abstractions"
    }


def test_older_frameworks_need_packages_for_what_newer_ones_have() -> None:
    """`System.Text.Json` is a package for .NET Standard 2.0 and part of .NET 9."""
    source = "using System.Text.Json;\nclass A {}"
    assert alone(NET, source) == set()
    assert alone(LIBRARY.format("net9.0;netstandard2.0").replace("Framework>", "Frameworks>"), source) == {
        "System.Text.Json"
    }


def test_settings_and_files_speak_for_packages() -> None:
    """Rules of analyzers, files of their own, properties and commands name packages that no source file opens."""
    found = alone(
        NET.replace("</PropertyGroup>", "<MinVerTagPrefix>v</MinVerTagPrefix></PropertyGroup>"),
        "class A {}",
        stylecop_json="{}",
        src__App__FodyWeavers_xml="<Weavers><Costura /></Weavers>",
        _github__workflows__ci_yml='run: dotnet test --collect:"XPlat Code Coverage"',
    )
    assert found == {"MinVer", "StyleCop.Analyzers", "Fody", "Costura.Fody"}
    rules = inferred(
        "csharp",
        {
            ".editorconfig": "dotnet_diagnostic.MA0048.severity = none\ndotnet_diagnostic.CA1000.severity = no\n",
            "App/App.csproj": NET,
            "App/A.cs": "class A {}",
        },
    )
    assert packages(rules, "App") == {"Meziantou.Analyzer"}


SHOP = {
    "src/Shop.Core/Shop.Core.csproj": NET,
    "src/Shop.Core/Order.cs": "using Newtonsoft.Json;\nnamespace Shop.Core { public class Order {} }",
    "src/Shop.Data/Shop.Data.csproj": NET,
    "src/Shop.Data/Store.cs": "using Shop.Core;\nnamespace Shop.Data { public class Store { Order o; } }",
    "src/Shop.Web/Shop.Web.csproj": NET.replace("Microsoft.NET.Sdk", "Microsoft.NET.Sdk.Web"),
    "src/Shop.Web/Program.cs": "using Shop.Data;\nvar store = new Store(); Newtonsoft.Json.X y;",
    "tests/Shop.Core.Tests/Shop.Core.Tests.csproj": NET,
    "tests/Shop.Core.Tests/T.cs": "using Xunit;\nusing Newtonsoft.Json;\nnamespace Shop.Core.Tests;\n"
    "class T { [Fact] void A() { new Order(); } }",
}


def test_projects_refer_to_those_whose_types_they_use() -> None:
    """By a using, or from a namespace around their own; nothing refers to tests, and no two to each other."""
    found = inferred("csharp", SHOP)
    assert references(found, "Shop.Core") == []
    assert references(found, "Shop.Data") == ["../Shop.Core/Shop.Core.csproj"]
    assert references(found, "Shop.Web") == ["../Shop.Data/Shop.Data.csproj"]
    assert references(found, "Shop.Core.Tests") == ["../../src/Shop.Core/Shop.Core.csproj"]
    evidence = project(found, "Shop.Data").references[0].evidence
    assert (evidence.path, evidence.line, evidence.imported) == ("src/Shop.Data/Store.cs", 1, "Order")


def test_a_reference_brings_the_packages_of_its_project() -> None:
    """What a project has through another one of the repository it does not declare again."""
    found = inferred("csharp", SHOP)
    assert packages(found, "Shop.Core") == {"Newtonsoft.Json"}
    assert "Newtonsoft.Json" not in packages(found, "Shop.Core.Tests")
    kinds = {one.name: one.kind for one in found.dependencies}
    assert kinds["Newtonsoft.Json"] is InferredKind.RUNTIME
    assert kinds["xunit"] is InferredKind.DEV


def test_friends_and_names_tell_what_tests_test() -> None:
    """A project that shows its internals to another one is referred to, and so is what tests are named after."""
    shown = NET.replace("</Project>", '<ItemGroup><InternalsVisibleTo Include="Proofs" /></ItemGroup></Project>')
    files = {
        "A/A.csproj": shown,
        "A/A.cs": "namespace A; class C {}",
        "Proofs/Proofs.csproj": NET,
        "Proofs/P.cs": "class P { [Fact] void T() {} }",
        "A.Tests/A.Tests.csproj": NET,
        "A.Tests/P.cs": "class Q {}",
    }
    found = inferred("csharp", {f"src/{name}": text for name, text in files.items()})
    assert references(found, "A.Tests") == ["../A/A.csproj"]
    assert references(found, "Proofs") == ["../A/A.csproj"]


def test_a_name_that_several_projects_offer_decides_nothing() -> None:
    """A type that two projects declare in one namespace speaks for neither."""
    files = {f"src/{name}/{name}.csproj": NET for name in ("One", "Two", "Three")}
    files |= {f"src/{name}/A.cs": "namespace Common; class Helper {}" for name in ("One", "Two")}
    files["src/Three/A.cs"] = "using Common;\nclass B { Helper h; }"
    assert references(inferred("csharp", files), "Three") == []


def test_packages_of_the_repository_itself_are_references() -> None:
    """A repository that makes a known package does not need it from a registry."""
    files = {
        "src/Serilog/Serilog.csproj": NET,
        "src/Serilog/Log.cs": "namespace Serilog; public class Log {}",
        "test/Serilog.Tests/Serilog.Tests.csproj": NET,
        "test/Serilog.Tests/T.cs": "using Serilog;\nclass T { Log l; }",
    }
    found = inferred("csharp", files)
    assert found.dependencies == ()
    assert references(found, "Serilog.Tests") == ["../../src/Serilog/Serilog.csproj"]


@pytest.mark.parametrize(
    "text",
    [
        "not XML <",
        '<!DOCTYPE a [<!ENTITY b "c">]><Project Sdk="Microsoft.NET.Sdk.Web">&b;</Project>',
        f"<Project><PropertyGroup><A>{'$(B)' * 2000}</A><B>{'$(C)' * 2000}</B><C>{'x' * 9000}</C></PropertyGroup>"
        "</Project>",
    ],
)
def test_a_hostile_project_file_says_nothing(text: str) -> None:
    """What is no XML, declares entities, or refers to itself many times is a project without settings."""
    assert alone(text, "using Newtonsoft.Json;\nclass A {}") == {"Newtonsoft.Json"}


def test_a_file_of_thousands_of_namespaces_is_read_without_their_products() -> None:
    """What no person writes costs no more than its size."""
    code = "".join(f"using N{i};\nnamespace M{i} {{ class C{i} {{}} }}\n" for i in range(2000))
    found = csharp_imports(code.encode())
    assert (len(found.usings), len(found.namespaces), found.types) == (2000, 2000, frozenset())
    assert alone(NET, f"using Newtonsoft.Json;\n{code}") == {"Newtonsoft.Json"}


def test_what_a_command_of_ci_names_goes_to_the_tests() -> None:
    """Into the project with tests alone, with the command's line; the library's users get no logger."""
    files = {
        "src/A/A.csproj": NET,
        "src/A/A.cs": "namespace A { public class One {} }",
        "tests/A.Tests/A.Tests.csproj": NET,
        "tests/A.Tests/T.cs": "using Xunit;\nnamespace A.Tests { class T { [Fact] void F() { new One(); } } }",
        ".github/workflows/ci.yml": "on: push\n\n# run: dotnet test --logger GitHubActions",
    }
    found = inferred("csharp", files)
    assert packages(found, "A") == set()
    logger = next(one for one in project(found, "A.Tests").dependencies if one.name == "GitHubActionsTestLogger")
    assert (logger.evidence[0].path, logger.evidence[0].line) == (".github/workflows/ci.yml", 3)


@pytest.mark.parametrize("comment", ["/// [Test]", "// [Fact]", "/* [Test]\n[Fact] */"])
def test_an_attribute_in_a_comment_tests_nothing(comment: str) -> None:
    """The project stays a library, whose packages are for run time."""
    found = inferred(
        "csharp", {"src/A/A.csproj": NET, "src/A/A.cs": f"using Newtonsoft.Json;\n{comment}\nclass A {{}}"}
    )
    assert [(one.name, one.kind) for one in project(found, "A").dependencies] == [
        ("Newtonsoft.Json", InferredKind.RUNTIME)
    ]


def test_signatures_in_several_forms_lose_no_types() -> None:
    """Methods that begin in one of two branches leave the class and what stands around it."""
    method = "#if NET8_0\n  public int M{0}(int a)\n#else\n  public long M{0}(long a)\n#endif\n  {{ return 1; }}\n"
    source = "namespace A;\npublic static class Checks {\n" + "".join(map(method.format, range(4))) + "}\n"
    assert "Checks" in csharp_imports(source.encode()).types


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        ("fs", "namespace Calc\n\ntype Adder() =\n    member _.Add(a, b) = a + b\n"),
        ("vb", "Namespace Calc\n    Public Class Adder\n    End Class\nEnd Namespace\n"),
    ],
)
def test_projects_of_other_languages_are_seen(suffix: str, source: str) -> None:
    """One in F# or Visual Basic is referred to by what it declares, and its own packages are found."""
    opened = {"fs": "open Newtonsoft.Json\n", "vb": "Imports Newtonsoft.Json\n"}[suffix]
    text = source.replace("\n\n", f"\n\n{opened}\n") if suffix == "fs" else opened + source
    files = {
        f"src/Calc/Calc.{suffix}proj": NET,
        f"src/Calc/Adder.{suffix}": text,
        "src/App/App.csproj": NET,
        "src/App/App.cs": "using Calc;\nnamespace App { class P { Adder a = new Adder(); } }",
    }
    found = inferred("csharp", files)
    calc = next(one for one in found.projects if one.path.endswith(f"Calc.{suffix}proj"))
    assert {one.name for one in calc.dependencies} == {"Newtonsoft.Json"}
    assert references(found, "App") == [f"../Calc/Calc.{suffix}proj"]
