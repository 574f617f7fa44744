"""Which systems are liked best."""

from groundup_factory.instances.ratings import system_rating


def test_runners_are_ordered_by_how_likely_a_job_runs_here() -> None:
    """The usual Linux comes first, Windows last."""
    runners = ["ubuntu-latest", "ubuntu-22.04", "ubuntu-24.04-arm", "self-hosted", "macos-14", "windows-latest"]
    rated = [system_rating(runner) for runner in runners]
    assert rated == sorted(set(rated), reverse=True)
    assert (rated[0], rated[-1]) == (1.0, 0.0)
    assert system_rating("Ubuntu") == 1.0
