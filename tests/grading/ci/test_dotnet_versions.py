"""What stands for SDKs and runtimes that are not here, as a job's copy and its record say."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.ci.dotnet_versions import DotNetVersions, dotnet_versions, fitted_global_json

HERE = ("8.0.404", "10.0.401")


@pytest.mark.parametrize(
    ("version", "policy", "taken"),
    [
        ("9.0.100", "latestMinor", "10.0.401"),
        ("10.0.100", "latestFeature", None),
        ("10.0.402", None, "10.0.401"),
        ("10.0.401", "disable", None),
        ("8.0.400", None, None),
        ("8.0.300", None, "8.0.404"),
        ("8.0.300", "latestFeature", None),
        ("6.0.100", "major", None),
        ("11.0.100-preview.1", "latestMinor", "10.0.401"),
    ],
)
def test_a_pin_that_no_sdk_fits_gets_the_next_newer_one(
    version: str, policy: str | None, taken: str | None
) -> None:
    """What a policy allows stays as it is; so do test runners and SDKs of MSBuild in a file that is rewritten."""
    rest = {"test": {"runner": "Microsoft.Testing.Platform"}, "msbuild-sdks": {"Cake.Frosting": "5.0.0"}}
    pin = {"version": version} | ({"rollForward": policy} if policy else {})
    fitted = fitted_global_json(json.dumps({"sdk": pin, **rest}).encode(), HERE)
    if taken is None:
        assert fitted is None
        return
    assert fitted is not None
    data, said = fitted
    assert said == f"{taken} for {version}"
    assert json.loads(data) == {
        "sdk": {"version": taken, "rollForward": "latestPatch", "allowPrerelease": True},
        **rest,
    }
    assert fitted_global_json(data, HERE) is None


def test_comments_are_read_and_commas_that_break_the_sdk_are_mended() -> None:
    """People write these files by hand; what lies elsewhere, such as an own folder of SDKs, is left out."""
    text = '\ufeff{ // the "SDK"\n "sdk": {"version": "8.0.404", /* , */ }, "note": "a // b,}" }'
    fitted = fitted_global_json(text.encode(), HERE)
    assert fitted is not None
    assert json.loads(fitted[0])["note"] == "a // b,}"
    own = fitted_global_json(b'{"sdk": {"version": "8.0.404", "paths": [".dotnet"]}}', HERE)
    assert own is not None
    assert "paths" not in own[0].decode()


@given(st.binary(max_size=60) | st.text('{}[]",:/* sdkverion.0189\n', max_size=60).map(str.encode))
def test_no_file_breaks_the_reader(data: bytes) -> None:
    """What is no `global.json` is left to dotnet, which says so."""
    assert fitted_global_json(data, HERE) is None or b'"sdk"' in data


def test_files_of_a_copy_are_fitted_and_said(tmp_path: Path) -> None:
    """Each one, wherever it lies; what an older pin makes of warnings is said with it."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/global.json").write_text('{"sdk": {"version": "9.0.100"}}')
    (tmp_path / "global.json").write_text("no JSON")
    beside = {"SDK": HERE, "runtime": ("8.0.10", "10.0.12")}
    found = dotnet_versions(beside, ("8.0.x",), tmp_path, tmp_path, "/inside")
    assert found.substitutes == ("no warnings that only SDK 10.0.401 knows",)
    assert found.variables["CustomBeforeMicrosoftCommonTargets"] == "/inside/newer-sdk.props"
    assert ";CA1859;" in (tmp_path / "newer-sdk.props").read_text()
    assert list(found.fit(tmp_path)) == ["SDK 10.0.401 for 9.0.100 (src/global.json)"]
    assert list(found.fit(tmp_path)) == []
    same = dotnet_versions(beside, ("10.0.x", "8.0.x"), tmp_path / "src", tmp_path, "/inside")
    assert (same.substitutes, set(same.variables)) == (
        (),
        set(found.variables) - {"CustomBeforeMicrosoftCommonTargets"},
    )


def test_the_record_names_the_runtime_that_tests_got() -> None:
    """As the log shows it: the next newer one, where the right one is not here."""
    log = (
        b"Test run for /workspace/a/bin/T.dll (.NETCoreApp,Version=v9.0)\n"
        b"Test run for /workspace/a/bin/T.dll (.NETCoreApp,Version=v8.0)\n"
        b"Running tests from /workspace/a/bin/Debug/net6.0/M.dll (net10.0|x64)\n"
    )
    versions = DotNetVersions(sdks=HERE, runtimes=("8.0.10", "10.0.12"))
    assert list(versions.rolled_forward(log)) == ["runtime 10.0.12 for .NET 9.0", "runtime 8.0.10 for .NET 6.0"]


def test_what_nuget_took_for_a_declared_version_is_named() -> None:
    """Each package once, with both versions, in the words of both generations of NuGet."""
    log = (
        b"/r/T.csproj : warning NU1603: T depends on coverlet.msbuild (>= 8.0.0) but coverlet.msbuild 8.0.0 was "
        b"not found. coverlet.msbuild 10.0.1 was resolved instead.\n"
        b"/r/T.csproj : warning NU1603: T depends on NUnit (>= 3.0.0-rc.1) but NUnit 3.0.0-rc.1 was not found. "
        b"An approximate best match of NUnit 3.14.0 was resolved.\n"
    )
    versions = DotNetVersions(sdks=HERE, runtimes=())
    told = ["coverlet.msbuild 10.0.1 for 8.0.0", "NUnit 3.14.0 for 3.0.0-rc.1"]
    assert list(versions.resolved_otherwise(log * 2)) == told
