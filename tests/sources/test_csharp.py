"""C#."""

from groundup.sources.csharp import csharp_imports
from groundup.sources.records import InferredKind
from tests.sources.trees import inferred, names


def test_every_form_of_using_is_found() -> None:
    """Plain, static, alias and global usings name namespaces; using statements do not."""
    source = (
        b"global using Serilog;\nusing static Moq.It;\nusing Json = Newtonsoft.Json.Linq;\nusing System;\n"
        b"namespace My.App;\nclass A { void F() { using var x = new Y(); using (var z = x) {} } }\n"
    )
    found = csharp_imports(source)
    assert found.usings == [("Serilog", 1), ("Moq.It", 2), ("Newtonsoft.Json.Linq", 3), ("System", 4)]
    assert found.namespaces == {"My.App"}


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
