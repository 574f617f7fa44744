"""Flags that somebody knows from elsewhere."""

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.replaced_flags import refuse_gone


@pytest.mark.parametrize(
    ("flag", "ours"),
    [
        ("repo_names", "--tasks Blog"),
        ("skip_docker", "--no-exec"),
        ("repo_name", "--tasks Blog"),
        ("llm_model", "-m openai/"),
        ("llm_api_key", "from the environment"),
        ("resume", "groundup resume"),
        ("golden_test_dir_java", "data pull repogenesis"),
        ("keep_images", "groundup clean"),
    ],
)
def test_flags_of_the_published_harness_name_ours(flag: str, ours: str) -> None:
    """Who types what RepoGenesis wants hears what it is called here; a flag of ours passes."""
    with pytest.raises(UsageError, match=ours):
        refuse_gone(flag, "x")
    refuse_gone("tasks", "x")
