"""Where things lie in the two sandboxes of a job."""

from groundup.grading.ci.records import job_of, translated


def test_acts_folders_become_the_steps() -> None:
    """Every path of act's own is replaced wherever it stands in a text, and others are left alone."""
    base = "/workspace/groundup-act-cache/0123456789abcdef"
    text = f"cd {base}/hostexecutor/lib && cat {base}/tmp/x '{base}/act/workflow/1.sh'"
    assert translated(text, "app") == (
        "cd /workspace/app/lib && cat /workspace/.runner/temp/x '/workspace/.runner/act/workflow/1.sh'"
    )
    assert translated("/workspace/groundup-act-cache/tool_cache/x", "app") == "/workspace/.runner/tools/x"
    assert translated("/workspace/other", "app") == "/workspace/other"
    assert job_of(f"{base}/hostexecutor") == "0123456789abcdef"
    assert job_of("/workspace") is None
