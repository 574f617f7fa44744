"""Flags that somebody may know and groundup has not, with sentences that say what to do instead.

Those of earlier versions are kept for one release, those of the published RepoGenesis harness as long as it is.
"""

from groundup.domain.errors import UsageError

_GONE = {
    "mcp": "--mcp is gone: groundup gives agents no tool servers; a preset of your own can write a program's "
    "settings (docs/agents.md)",
    "skills": "--skills is gone: a preset of your own can write a program's skills as files (docs/agents.md)",
    "sandbox=none": "the sandbox none is gone: it protected nothing; leave it out, or name docker or podman",
    "sandbox=fake": "the sandbox fake is gone: it ran nothing; a sandbox of your own is named by its dotted path",
    "i_trust_this_code": "--i-trust-this-code is gone with the sandbox none: leave it out",
    "trust_code": "the setting trust_code is gone with the sandbox none: leave it out",
    "votes": "--votes is gone: a judge is asked once; name several judges with -m",
    "select=judges": "--select judges is gone: `groundup judge` says what models think, and chooses nothing",
    "select=votes": "--select votes is gone: `groundup judge` says what models think, and chooses nothing",
    "format=ctrf": "--format ctrf is gone: CI servers read --format junit",
    "format=parquet": "--format parquet is gone: pandas and datasets read --format csv of a report and "
    "--format messages of an export",
    "format=sharegpt": "--format sharegpt is gone: trainers read --format messages (docs/serving.md)",
}
"""By a flag's name in Python, or by `name=value`."""
_OF_REPOGENESIS = {
    "repo_names": "--repo_names is --tasks here, with commas: --tasks Blog,flask",
    "skip_docker": "--skip_docker is --no-exec here: API coverage from sources alone",
    "resume": "--resume is a command here: `groundup resume RUN`",
    "predictions_dir": "--predictions_dir is -p here: -p FOLDER, with a folder for each task",
    "answer_dir": "--answer_dir is -p here: -p FOLDER, with a folder for each task",
    "output_dir": "--output_dir is -o here",
    "repo_name": "--repo_name is --tasks here: --tasks Blog",
    "repo_root": "--repo_root is not asked here: `groundup data pull repogenesis` has the READMEs; what an "
    "agent makes lies in the run's folder",
    "llm_model": "--llm_model is -m here, with its provider: -m openai/gpt-4o",
    "llm_base_url": "--llm_base_url is --base-url here",
    "llm_api_key": "--llm_api_key is not asked here: keys come from the environment, such as OPENAI_API_KEY",
    **{
        flag: f"--{flag} is not asked here: `groundup data pull repogenesis --from FOLDER` takes tests in once"
        for flag in (
            "test_dir",
            "golden_test_dir_python",
            "golden_test_dir_java",
            "readme_dir_python",
            "readme_dir_java",
        )
    },
    **{
        flag: f"--{flag} is not asked here: no images are built; `groundup clean` removes what is kept"
        for flag in ("keep_images", "cleanup")
    },
}


def refuse_gone(flag: str, value: object = None) -> None:
    """Raise `UsageError` where *flag*, or this *value* of it, is what only earlier versions know."""
    if why := _GONE.get(flag) or _GONE.get(f"{flag}={value}") or _OF_REPOGENESIS.get(flag):
        raise UsageError(why)
