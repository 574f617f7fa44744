"""From a Python repository to its dependencies."""

from pathlib import PurePosixPath

import pytest
from benchmarks.inference_names import import_roots

from groundup.sources.names import is_standard, python_provider
from groundup_infer.python_imports import oldest_python
from groundup_infer.python_layout import SourcePlace, lay_out
from groundup_infer.records import InferredKind
from tests.groundup_infer.trees import inferred, names, tree_of

PROJECT = "[project]\nname = 'demo-kit'\n[project.scripts]\ndemo = 'demo_kit.cli:main'\n"
PACKAGE = {
    "pyproject.toml": PROJECT,
    "src/demo_kit/__init__.py": "from .core import run\n",
    "src/demo_kit/core.py": "import requests\nimport yaml\nfrom demo_kit import helpers\n",
    "src/demo_kit/helpers.py": "import os\nimport attr\n",
    "src/demo_kit/cli.py": "import click\n",
    "src/demo_kit/contrib/pandas.py": "import pandas\n",
    "src/demo_kit/fast.py": "try:\n    import ujson\nexcept ImportError:\n    ujson = None\n",
    "src/demo_kit/types.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import boto3\n",
    "tests/conftest.py": "import pytest\nimport demo_kit\nimport helpers_of_tests\n",
    "tests/helpers_of_tests.py": "",
    "docs/conf.py": "import sphinx_rtd_theme\n",
    "setup.py": "import setuptools\n",
}


def test_required_optional_and_development_are_kept_apart() -> None:
    """Imports on the way from root and entry points are required; guarded, plugin and test imports are not."""
    found = inferred("python", PACKAGE)
    assert names(found, InferredKind.RUNTIME) == {"requests", "pyyaml", "attrs", "click"}
    assert names(found, InferredKind.OPTIONAL) == {"pandas", "ujson"}
    assert names(found, InferredKind.DEV, InferredKind.BUILD) == {
        "pytest",
        "sphinx-rtd-theme",
        "setuptools",
        "boto3",
    }


def test_every_dependency_says_why() -> None:
    """Each line can be explained: file, line, manner, and whether loading the package runs it."""
    found = {item.name: item for item in inferred("python", PACKAGE).dependencies}
    assert str(found["click"].evidence[0]) == "imported in src/demo_kit/cli.py:1, eager"
    assert str(found["ujson"].evidence[0]) == "imported in src/demo_kit/fast.py:2, guarded, not reached on import"
    assert str(found["pytest"].evidence[0]) == "imported in tests/conftest.py:1, eager, in test"
    assert all(item.evidence and item.confidence is not None for item in found.values())


def test_declared_dependencies_are_never_read() -> None:
    """Declarations of every kind make no difference to the answer."""
    declared = PROJECT.replace("name = 'demo-kit'", "name = 'demo-kit'\ndependencies = ['numpy', 'scipy']")
    more = {
        **PACKAGE,
        "pyproject.toml": declared + "[project.optional-dependencies]\nx = ['polars']\n",
        "requirements.txt": "torch\n",
    }
    assert inferred("python", more) == inferred("python", PACKAGE)


def test_the_projects_own_modules_are_no_dependencies() -> None:
    """Packages, siblings of scripts and single modules of the repository are local."""
    found = inferred(
        "python",
        {
            "app.py": "import settings\nimport lib.tools\nfrom flask import Flask\n",
            "settings.py": "",
            "lib/tools.py": "import requests\n",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"flask", "requests"}
    assert not found.unknown


@pytest.mark.parametrize(
    ("files", "roots", "folder_of_place"),
    [
        ({"src/a/__init__.py": ""}, ("a",), "src/a/__init__.py"),
        ({"a/__init__.py": "", "tests/__init__.py": ""}, ("a",), "a/__init__.py"),
        ({"setup.py": "setup(name='m', py_modules=['m'])", "m.py": ""}, ("m",), "m.py"),
        ({"setup.py": "setup(package_dir={'': 'code'})", "code/a/__init__.py": ""}, ("a",), "code/a/__init__.py"),
        (
            {"setup.cfg": "[metadata]\nname = ns-thing\n", "ns/thing/__init__.py": ""},
            ("ns",),
            "ns/thing/__init__.py",
        ),
    ],
)
def test_import_roots_are_found(files: dict[str, str], roots: tuple[str, ...], folder_of_place: str) -> None:
    """Flat, src, named folder, single module and namespace layouts are understood."""
    layout = lay_out(tree_of(files))
    assert layout.roots == roots
    assert layout.places[folder_of_place] is SourcePlace.PACKAGE


@pytest.mark.parametrize(
    ("module", "name", "known"),
    [
        ("cv2", "opencv-python", True),
        ("yaml", "pyyaml", True),
        ("PIL.Image", "pillow", True),
        ("google.cloud.storage.blob", "google-cloud-storage", True),
        ("google.protobuf", "protobuf", True),
        ("OpenSSL", "pyopenssl", True),
        ("never_heard_of", "never-heard-of", False),
        ("zope.unheard.of", "zope-unheard", False),
    ],
)
def test_import_names_become_distribution_names(module: str, name: str, known: bool) -> None:
    """The longest known prefix decides; what no data names is a guess, and said to be one."""
    assert python_provider(module) == (name, known)


def test_the_standard_library_is_of_every_age() -> None:
    """Modules that Python dropped, or had under version 2, are not looked for in a registry."""
    assert all(is_standard(name) for name in ("os.path", "tomllib", "distutils.core", "urllib2", "ConfigParser"))


def test_a_backport_carries_its_marker() -> None:
    """A dependency that only old interpreters need says so."""
    found = inferred(
        "python",
        {
            "pyproject.toml": "[project]\nname = 'p'\n",
            "p/__init__.py": (
                "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli\n"
            ),
        },
    )
    (tomli,) = found.dependencies
    assert (tomli.name, tomli.marker) == ("tomli", 'python_version < "3.11"')


def test_shared_namespaces_belong_to_no_one_root() -> None:
    """A project inside `google` still depends on the others there."""
    found = inferred(
        "python",
        {
            "pyproject.toml": "[project]\nname = 'google-thing'\n",
            "google/thing/__init__.py": "from google.thing import core\nfrom google import protobuf\n",
            "google/thing/core.py": "import google.auth\n",
        },
    )
    assert {item.name for item in found.dependencies} == {"protobuf", "google-auth"}


@pytest.mark.parametrize(
    ("source", "least"),
    [
        (b"x = 1\n", None),
        (b"if (n := 3):\n    pass\n", ">=3.8"),
        (b"match x:\n    case 1:\n        pass\n", ">=3.10"),
        (b"try:\n    a\nexcept* ValueError:\n    b\n", ">=3.11"),
        (b"type X = int\n", ">=3.12"),
        (b'TEXT = """\nmatch x:\n    case 1:\n"""\n', None),
        (b"match = re.match(a, b)\n", None),
    ],
)
def test_the_syntax_tells_the_oldest_python(source: bytes, least: str | None) -> None:
    """Only syntax that is really there counts, not text in strings."""
    assert oldest_python([source]) == least


AGENTS = {
    "pyproject.toml": "[project]\nname = 'acme-agents'\n",
    "src/agents/__init__.py": "from .run import go\n",
    "src/agents/run.py": "from mcqclient import Session\nfrom src.agents.x import y\nfrom .mcqclient import z\n",
    "src/agents/mcqclient/__init__.py": "",
    "src/agents/mcqclient/util.py": "from mcqclient.types import Tool\nimport zzz_helper\n",
    "examples/mcqclient/__init__.py": "",
    "tests/mcqclient/__init__.py": "",
    "vendor/zzz_helper/__init__.py": "",
}


def test_a_folder_elsewhere_hides_no_package_of_its_name() -> None:
    """`src/agents/mcqclient` and a distribution `mcqclient` are two; what a path may lead to stays local."""
    found = inferred("python", AGENTS)
    assert names(found, InferredKind.RUNTIME, InferredKind.OPTIONAL) == {"mcqclient"}


def test_a_file_beside_the_importing_one_hides_it() -> None:
    """What lies in the same folder is meant, where nothing else is known of the name."""
    files = {
        "a/__init__.py": "import zzz_extra\n",
        "a/zzz_extra/__init__.py": "",
        "pyproject.toml": "[project]\nname='a'\n",
    }
    assert not inferred("python", files).dependencies


def test_a_test_needs_a_distribution_that_nobody_knows() -> None:
    """An unknown name is local only where a file has it, such as a module that is compiled from Cython."""
    files = {
        "a/__init__.py": "",
        "a/zzz_fast.pxd": "",
        "pyproject.toml": "[project]\nname='a'\n",
        "tests/test_a.py": "import zzz_extra\nimport zzz_fast\n",
    }
    assert names(inferred("python", files), InferredKind.DEV) == {"zzz-extra"}


def test_a_namespace_hides_no_part_of_others() -> None:
    """A root without a module of its own, or with one that extends its path, is shared with others."""
    files = {
        "pyproject.toml": "[project]\nname = 'acme-web-forms'\n",
        "acme/web/forms/__init__.py": "from acme.core import x\nimport acme.web.forms.fields\nimport acme.store\n",
        "acme/web/forms/fields.py": "",
    }
    assert names(inferred("python", files), InferredKind.RUNTIME) == {"acme-core", "acme-store"}
    declared = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
    assert names(
        inferred("python", {**files, "acme/__init__.py": declared}), InferredKind.RUNTIME, InferredKind.OPTIONAL
    ) == {
        "acme-core",
        "acme-store",
    }
    own = {**files, "acme/__init__.py": "VERSION = '1'\n"}
    assert not inferred("python", own).dependencies


@pytest.mark.parametrize(
    ("module", "name"), [("_jpype", "jpype1"), ("_yaml", "pyyaml"), ("_zzz_speedups", ""), ("__zzz", "")]
)
def test_a_compiled_module_is_its_distributions(module: str, name: str) -> None:
    """No distribution is called `_jpype`: the name without `_` tells it, or it is the project's own."""
    assert python_provider(module).name == name
    found = inferred("python", {"pyproject.toml": "[project]\nname='a'\n", "a/__init__.py": f"import {module}\n"})
    assert names(found, InferredKind.RUNTIME) == ({name} if name else set())


def test_names_come_from_wheels_records() -> None:
    """Packages, modules and, in shared namespaces, the folder that holds modules."""
    files = [
        "google/iam/v1/policy_pb2.py", "google/iam/v1/logging/audit_pb2.py", "single.py", "pkg/__init__.py",
        "pkg/_fast.cpython-311-x86_64-linux-gnu.so", "tests/test_it.py", "thing-1.0.dist-info/RECORD",
        "thing-1.0.data/scripts/run.py", "__pycache__/x.py",
    ]  # fmt: skip
    assert import_roots(map(PurePosixPath, files)) == {"google.iam.v1", "single", "pkg"}


@pytest.mark.parametrize(
    "declared",
    [
        {"pyproject.toml": "[project]\nname = 'odd'\n[tool.setuptools.packages.find]\ninclude = ['kit*']\n"},
        {"pyproject.toml": "[project]\nname = 'odd'\n[tool.setuptools]\npackages = ['kit', 'kit.inner']\n"},
        {"setup.cfg": "[metadata]\nname = odd\n[files]\npackages =\n    kit\n"},
        {"setup.cfg": "[metadata]\nname = odd\n[options.packages.find]\ninclude =\n    kit\n    kit.*\n"},
        {"setup.py": "setup(name='odd', packages=find_packages(include=['kit', 'kit.*']))\n"},
        {"setup.py": "setup(name='odd', packages=['kit'])\n"},
    ],
    ids=["find include", "packages", "pbr", "setup.cfg find", "setup.py find", "setup.py list"],
)
def test_what_a_project_says_that_it_installs_is_believed(declared: dict[str, str]) -> None:
    """Other packages at the top, however large, are then tools of the developers."""
    files = {"kit/__init__.py": "", "odd_tools/__init__.py": "import boto3\n", "odd_tools/more.py": ""}
    assert lay_out(tree_of(declared | files)).roots == ("kit",)


def test_entry_points_of_pbr_are_entry_points() -> None:
    """A project of OpenStack names its programs and plugins in `[entry_points]` of setup.cfg."""
    points = "console_scripts =\n    kit = kit.shell:main\nkit.plugins =\n    a = kit.a:A\n"
    text = f"[metadata]\nname = kit\n[entry_points]\n{points}"
    project = lay_out(tree_of({"setup.cfg": text, "kit/__init__.py": "", "kit/shell.py": ""})).project
    assert (project.scripts, project.plugins) == (("kit.shell",), ("kit.a",))


def test_what_all_modules_stand_on_is_required_though_the_root_loads_nothing() -> None:
    """Where the package's root is empty, the share of its modules that need a distribution decides."""
    parts = {f"kit/part{number}.py": "from kit import base\n" for number in range(8)}
    files = {
        "pyproject.toml": "[project]\nname = 'kit'\n",
        "kit/__init__.py": "",
        "kit/base.py": "import jmespath\n",
    }
    found = inferred("python", files | parts)
    assert names(found, InferredKind.RUNTIME) == {"jmespath"}


def test_cython_modules_import_too() -> None:
    """What a Cython file imports or cimports is needed; headers beside it and Cython's own are not."""
    files = {
        "setup.py": "setup(name='kit', packages=['kit'], ext_modules=[Extension('kit_core', [])])\n",
        "kit/__init__.py": "from kit import fast\nimport kit_core\n",
        "kit/fast.pyx": "cimport numpy as np\nfrom cymem.cymem cimport Pool\n"
        "from libc.math cimport sin\ncimport shapes\n",
        "kit/shapes.pxd": "",
    }
    assert {item.name for item in inferred("python", files).dependencies} == {"numpy", "cymem"}


def test_what_shares_a_namespace_below_the_root_is_foreign() -> None:
    """azure.mgmt.core is a distribution, though the repository has azure/mgmt/__init__.py."""
    shared = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
    files = {
        "setup.py": "setup(name='azure-mgmt-kit', packages=['azure', 'azure.mgmt', 'azure.mgmt.kit'])\n",
        "azure/__init__.py": shared,
        "azure/mgmt/__init__.py": shared,
        "azure/mgmt/kit/__init__.py": "from azure.mgmt.core import Client\nfrom azure.mgmt.kit import a\n",
        "azure/mgmt/kit/a.py": "",
    }
    assert {item.name for item in inferred("python", files).dependencies} == {"azure-mgmt-core"}


def test_well_known_names_are_known() -> None:
    """A folder called after Django somewhere in the repository does not hide it."""
    files = {"kit/__init__.py": "import django\n", "tests/contrib/django/__init__.py": ""}
    assert names(inferred("python", files), InferredKind.RUNTIME) == {"django"}
    assert python_provider("django").known


def test_relatives_of_a_project_have_its_prefix() -> None:
    """`company-kit-all` with the import `kit_all` shows that `kit_http` comes from `company-kit-http`."""
    relative = {
        "pyproject.toml": "[project]\nname = 'company-kit-all'\n",
        "kit_all/__init__.py": "import kit_http.client\nimport kitten\n",
    }
    found = inferred("python", relative)
    assert {item.name for item in found.dependencies} == {"company-kit-http", "kitten"}
    shared = {
        "pyproject.toml": "[project]\nname = 'apache-airflow-providers-http'\n",
        "airflow/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
        "airflow/providers/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
        "airflow/providers/http/__init__.py": "from airflow.models import Thing\n",
    }
    found = inferred("python", shared)
    assert {item.name for item in found.dependencies} == {"apache-airflow"}


def test_a_shared_root_is_read_part_by_part() -> None:
    """Where distributions share a root, the most precise name that one has decides."""
    assert python_provider("llama_index.core.schema").name == "llama-index-core"
    assert python_provider("airflow.models.dag").name == "apache-airflow"
    assert python_provider("airflow.providers.common.sql.hooks").name == "apache-airflow-providers-common-sql"
    assert python_provider("google.cloud.location.locations_pb2").name == "googleapis-common-protos"
    assert python_provider("azure.storage.filedatalake.aio").name == "azure-storage-file-datalake"
    assert python_provider("google.cloud.secretmanager_v1.types").name == "google-cloud-secret-manager"


def test_loading_a_shared_root_is_loading_the_projects_part_of_it() -> None:
    """The packages above belong to all who share them: what the project's outermost package imports, it needs."""
    path = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
    files = {
        "pyproject.toml": "[project]\nname = 'wide-part'\n",
        "wide/__init__.py": path,
        "wide/part/__init__.py": "import requests\n",
        "wide/part/more.py": "import yaml\n",
    }
    found = {item.name: item for item in inferred("python", files).dependencies}
    assert found["requests"].evidence[0].reached
    assert not found["pyyaml"].evidence[0].reached


def test_stubs_do_not_need_what_they_describe() -> None:
    """A distribution of modules with a stub beside each describes another one: it does not bring that along."""
    files = {"pyproject.toml": "[project]\nname = 'mypy-boto3-kit'\n"}
    for name in ("__init__", "client", "paginator"):
        text = "from botocore.client import BaseClient\nfrom typing_extensions import Self\n"
        files |= {f"mypy_boto3_kit/{name}.py": text, f"mypy_boto3_kit/{name}.pyi": text}
    assert names(inferred("python", files), InferredKind.RUNTIME) == {"typing-extensions"}


def test_an_unknown_part_of_a_shared_root_is_no_dependency() -> None:
    """`soda.common` is not soda-common: what nobody is known to provide is listed as unknown."""
    found = inferred(
        "python",
        {
            "pyproject.toml": '[project]\nname = "soda-spark"\n',
            "soda/spark/__init__.py": "from soda.common.logs import Logs\nimport requests\n",
        },
    )
    assert [one.name for one in found.dependencies] == ["requests"]
    assert found.unknown == ("soda.common.logs.Logs",)


def test_a_project_in_a_folder_that_cannot_be_imported() -> None:
    """In `mylib-1.0/` a package is a package; the paths are those of the repository."""
    found = inferred(
        "python",
        {
            "mylib-1.0/pyproject.toml": '[project]\nname = "mylib"\n',
            "mylib-1.0/mylib/__init__.py": "import requests\n",
            "README.md": "# mylib\n",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"requests"}
    assert found.dependencies[0].evidence[0].path == "mylib-1.0/mylib/__init__.py"
    assert found.local == ("mylib",)


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n",
        "try:\n    import tomllib\nexcept ModuleNotFoundError:\n    import tomli as tomllib  # older\n",
    ],
)
def test_a_backport_is_required_where_the_module_is_missing(source: str) -> None:
    """It is needed at run time, on interpreters that lack what it stands in for."""
    files = {"pyproject.toml": '[project]\nname = "a"\n', "src/a/__init__.py": source}
    (found,) = inferred("python", files).dependencies
    assert (found.name, found.kind, found.marker) == ("tomli", InferredKind.RUNTIME, 'python_version < "3.11"')


@pytest.mark.parametrize(
    ("taken", "marker"),
    [("Any, override as o", "3.12"), ("(\n    Self,\n    TypeIs,\n)", "3.13"), ("TypeAlias", "3.10")],
)
def test_a_backport_of_a_name_is_required_where_the_name_is_missing(taken: str, marker: str) -> None:
    """A module of the standard library got some of its names later."""
    source = (
        f"try:\n    from typing import {taken}\nexcept ImportError:\n    from typing_extensions import {taken}\n"
    )
    files = {"pyproject.toml": '[project]\nname = "a"\n', "src/a/__init__.py": source}
    (found,) = inferred("python", files).dependencies
    assert (found.kind, found.marker) == (InferredKind.RUNTIME, f'python_version < "{marker}"')


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import httpcore\nexcept ImportError:\n    import httpcore\n",
        "try:\n    from httpcore import a\nexcept ImportError:\n    from httpcore.old import a\n",
        'if sys.platform == "win32":\n    import httpcore as h\nelse:\n    import httpcore\n',
        "if a():\n    import httpcore\nelif b():\n    import httpcore.b\nelse:\n    from httpcore import c\n",
    ],
)
def test_what_each_branch_imports_is_required(source: str) -> None:
    """Whichever is taken, the package must be there."""
    files = {"pyproject.toml": '[project]\nname = "a"\n', "src/a/__init__.py": source}
    (found,) = inferred("python", files).dependencies
    assert (found.name, found.kind, found.marker) == ("httpcore", InferredKind.RUNTIME, "")


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import httpcore\nexcept ImportError:\n    httpcore = None\n",
        "if a():\n    import httpcore\nelif b():\n    import httpcore.b\n",
        "try:\n    import google.cloud.one\nexcept ImportError:\n    import google.auth\n",
    ],
)
def test_what_one_branch_does_without_is_not_required(source: str) -> None:
    """Neither are two distributions that share their root."""
    files = {"pyproject.toml": '[project]\nname = "a"\n', "src/a/__init__.py": source}
    assert not names(inferred("python", files), InferredKind.RUNTIME)


@pytest.mark.parametrize("folder", ["src/company.{}/company/{}", "packages/{}-kit/src/company/{}"])
def test_projects_that_share_a_namespace_are_read_each_by_itself(folder: str) -> None:
    """What one takes from the other is the repository's own, and folders need be no names of Python."""
    foo, bar = (folder.format(name, name) for name in ("foo", "bar"))
    files = {
        f"{foo.partition('/company/')[0].removesuffix('/src')}/pyproject.toml": '[project]\nname = "acme-foo"\n',
        f"{bar.partition('/company/')[0].removesuffix('/src')}/pyproject.toml": '[project]\nname = "acme-bar"\n',
        f"{foo}/__init__.py": "import requests\n",
        f"{bar}/__init__.py": "import click\nimport requests\nfrom company.foo import get\n",
    }
    found = inferred("python", files)
    assert names(found, InferredKind.RUNTIME) == {"click", "requests"}
    assert len(found.dependencies) == 2
    assert {one.path for item in found.dependencies for one in item.evidence} == {
        f"{foo}/__init__.py",
        f"{bar}/__init__.py",
    }


@pytest.mark.parametrize("top", [{}, {"pyproject.toml": '[project]\nname = "acme"\n'}])
def test_folders_called_as_their_part_of_a_namespace_need_no_project_file(top: dict[str, str]) -> None:
    """The folder's name says that it holds a project, whether or not one file at the top describes them all."""
    files = top | {
        "src/company.foo/company/foo/__init__.py": "import requests\n",
        "src/company.bar/company/bar/__init__.py": "import click\nfrom company.foo import get\n",
    }
    found = inferred("python", files)
    assert names(found, InferredKind.RUNTIME) == {"click", "requests"}
    assert len(found.dependencies) == 2


def test_sample_projects_and_the_top_are_no_projects_of_their_own() -> None:
    """A package at the top stays the project, whatever lies below it."""
    files = {
        "pyproject.toml": '[project]\nname = "kit"\n',
        "kit/__init__.py": "import click\n",
        "tests/data/sample/pyproject.toml": '[project]\nname = "sample"\n',
        "tests/data/sample/sample/__init__.py": "import requests\n",
    }
    assert names(inferred("python", files), InferredKind.RUNTIME) == {"click"}
