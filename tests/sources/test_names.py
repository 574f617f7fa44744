"""From imported names to distributions."""

import pytest

from groundup.sources.names import companions, is_standard, normalised, popular, python_provider, words


@pytest.mark.parametrize(
    ("module", "shared", "name", "known"),
    [
        ("yaml", False, "pyyaml", True),
        ("numpy.random", False, "numpy", True),
        ("google.cloud.storage", False, "google-cloud-storage", True),
        ("google.made_up.thing", False, "google-made-up", False),
        ("azure.storage.blob_v1", False, "azure-storage-blob", True),
        ("made.up", False, "made", False),
        ("made.up", True, "made-up", False),
        ("a_b", False, "a-b", False),
        ("_cffi_backend", False, "cffi", True),
        ("_yaml", False, "pyyaml", True),
        ("_made_up", False, "", False),
        ("__yaml.x", False, "pyyaml", True),
        ("airflow.providers.amazon.aws", False, "apache-airflow-providers-amazon", True),
        ("google.cloud.storage_v1beta2.types", False, "google-cloud-storage", True),
        ("google.api_core_v", False, "google-api-core-v", False),
        ("google", False, "google", True),
        ("zope.interface.verify", False, "zope-interface", True),
        ("made_up.sub.deep", True, "made-up-sub", False),
    ],
)
def test_the_longest_known_prefix_decides(module: str, shared: bool, name: str, known: bool) -> None:
    """Else the import's own name is the guess, two parts of it where many share the first."""
    assert python_provider(module, shared=shared) == (name, known)


def test_python_s_own_modules_of_any_version() -> None:
    """By the first part of their name."""
    assert all(map(is_standard, ("os.path", "distutils.core", "ConfigParser", "tomllib", "__future__")))
    assert not any(map(is_standard, ("requests", "py", "osx", "")))


def test_words_are_between_blanks() -> None:
    """On however many lines."""
    assert words(" a b\n c ") == {"a", "b", "c"}


def test_lists_are_of_names_as_registries_spell_them() -> None:
    """Comments in their files are no names."""
    assert {"requests", "pyyaml"} <= popular()
    assert all(name == normalised(name) for name in popular())
    assert "attrs" in companions()["aiohttp"]
