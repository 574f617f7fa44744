"""Tests of groundup.registries.maven: which repositories a user's Maven would ask, and how."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.registries.maven import MavenRepositorySettings, Mirror, maven_settings
from groundup.registries.settings import RegistrySettings

CENTRAL = "https://central.example/maven2"


def installation(folder: Path) -> Path:
    """Make what is left of a Maven when only its super POM counts."""
    (folder / "lib").mkdir(parents=True)
    pom = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><repositories><repository>'
        f"<id>central</id><url>{CENTRAL}</url></repository></repositories></project>"
    )
    with zipfile.ZipFile(folder / "lib/maven-model-builder-3.9.9.jar", "w") as jar:
        jar.writestr("org/apache/maven/model/pom-4.0.0.xml", pom)
    return folder


def configured(tmp_path: Path, settings: str, **environment: str) -> RegistrySettings:
    """Return the configuration of a user with these settings in their home."""
    (tmp_path / "home/.m2").mkdir(parents=True)
    (tmp_path / "home/.m2/settings.xml").write_text(f"<settings>{settings}</settings>")
    variables: Mapping[str, str] = {"HOME": str(tmp_path / "home"), **environment}
    return maven_settings(variables, installation(tmp_path / "maven"))


def test_without_settings_maven_itself_says_where_its_central_repository_is(tmp_path: Path) -> None:
    """The address stands in the installed Maven, and nowhere in groundup."""
    found = maven_settings({"HOME": str(tmp_path)}, installation(tmp_path / "maven"))
    assert [index.url for index in found.indexes] == [CENTRAL]
    assert found.proxy is None


def test_without_settings_and_without_maven_the_error_says_what_to_do(tmp_path: Path) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError, match="MAVEN_HOME"):
        maven_settings({"HOME": str(tmp_path)}, None)


def test_a_mirror_takes_the_place_of_what_it_mirrors_with_its_servers_login(tmp_path: Path) -> None:
    """The mirror's id finds the login; variables in settings are replaced; passwords stay hidden."""
    found = configured(
        tmp_path,
        "<mirrors><mirror><id>ours</id><mirrorOf>central</mirrorOf><url>https://mirror.example/all</url></mirror>"
        "</mirrors><servers><server><id>ours</id><username>me</username><password>${env.WORD}</password></server>"
        "</servers>",
        WORD="secret",
    )
    (index,) = found.indexes
    assert index.url == "https://mirror.example/all"
    assert index.credentials is not None
    assert (index.credentials.username, index.credentials.password.get_secret_value()) == ("me", "secret")
    assert "secret" not in repr(found)


def test_repositories_of_active_profiles_come_before_the_central_one(tmp_path: Path) -> None:
    """A profile that is not active adds nothing."""
    profile = (
        "<profile><id>{0}</id><repositories><repository><id>{0}</id><url>https://{0}.example/r</url></repository>"
        "</repositories></profile>"
    )
    found = configured(
        tmp_path,
        f"<profiles>{profile.format('on')}{profile.format('off')}</profiles>"
        "<activeProfiles><activeProfile>on</activeProfile></activeProfiles>",
    )
    assert [index.url for index in found.indexes] == ["https://on.example/r", CENTRAL]


@pytest.mark.parametrize(
    ("pattern", "stands"),
    [("*", True), ("central", True), ("external:*", True), ("external:http:*", False), ("*,!central", False)],
)
def test_patterns_of_mirrors_mean_what_they_mean_to_maven(pattern: str, stands: bool) -> None:
    """Stars, names, external ones and exceptions."""
    mirror = Mirror(id="m", url="https://m.example", mirror_of=pattern)
    assert mirror.stands_for(MavenRepositorySettings(id="central", url=CENTRAL)) is stands


def test_a_proxy_comes_from_settings_or_from_javas_properties(tmp_path: Path) -> None:
    """One that is not active does not count; hosts that go without it go without it."""
    proxy = "<proxies><proxy><active>{}</active><host>proxy.example</host><port>3128</port>{}</proxy></proxies>"
    said = configured(tmp_path / "said", proxy.format("true", "")).proxy
    assert said is not None
    assert said.get_secret_value() == "http://proxy.example:3128"
    assert configured(tmp_path / "off", proxy.format("false", "")).proxy is None
    excepted = proxy.format("true", "<nonProxyHosts>localhost|*.example</nonProxyHosts>")
    assert configured(tmp_path / "excepted", excepted).proxy is None
    options = "-Xmx1g -Dhttps.proxyHost=other.example -Dhttps.proxyPort=8081"
    ended = configured(tmp_path / "told", "", MAVEN_OPTS=options).proxy
    assert ended is not None
    assert ended.get_secret_value() == "http://other.example:8081"


def test_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Broken XML and passwords that only Maven can read end with a sentence."""
    with pytest.raises(UsageError, match=r"settings\.xml.*not valid XML"):
        configured(tmp_path / "broken", "<mirrors>")
    with pytest.raises(UsageError, match="encrypted"):
        configured(
            tmp_path / "locked",
            "<servers><server><id>a</id><username>b</username><password>{abc=}</password></server></servers>",
        )


def test_an_option_names_another_settings_file(tmp_path: Path) -> None:
    """As Maven's own variable for options does."""
    other = tmp_path / "other.xml"
    other.write_text(
        "<settings><mirrors><mirror><id>o</id><mirrorOf>*</mirrorOf><url>https://other.example</url></mirror>"
        "</mirrors></settings>"
    )
    found = configured(tmp_path, "", MAVEN_ARGS=f"-s {other}")
    assert [index.url for index in found.indexes] == ["https://other.example"]


MIRROR = "<mirrors><mirror><id>m</id><mirrorOf>{}</mirrorOf><url>https://m.example</url>{}</mirror></mirrors>"
CHOSEN = "<activeProfiles><activeProfile> p </activeProfile></activeProfiles>"
PROFILE = (
    "<profiles><profile><id>p</id>{}<repositories><repository><id>r</id><url> https://r.example </url>"
    "</repository><repository><id>none</id></repository></repositories>"
    "<pluginRepositories><pluginRepository><id>q</id><url>http://q.example</url></pluginRepository>"
    "</pluginRepositories></profile></profiles>"
)
DEFAULT = "<activation><activeByDefault>true</activeByDefault></activation>"
OWN_CENTRAL = PROFILE.format(DEFAULT).replace("<id>r<", "<id>central<")
R, Q, M = "https://r.example", "http://q.example", "https://m.example"


@pytest.mark.parametrize(
    ("settings", "urls", "origin"),
    [
        ("", [CENTRAL], "Maven's default"),
        (PROFILE.format(""), [CENTRAL], "Maven's default"),
        (PROFILE.format(DEFAULT), [R, Q, CENTRAL], "Maven's configuration"),
        (PROFILE.format(DEFAULT.replace("true", "false")), [CENTRAL], "Maven's default"),
        (PROFILE.format("") + CHOSEN,
         [R, Q, CENTRAL], "Maven's configuration"),
        (OWN_CENTRAL, [R, Q], "Maven's configuration"),
        (MIRROR.format("*", ""), [M], "Maven's configuration"),
        (MIRROR.format("*", "<blocked>true</blocked>"), [CENTRAL], "Maven's default"),
        (MIRROR.format("other", ""), [CENTRAL], "Maven's configuration"),
        (MIRROR.format("*,!r", "") + PROFILE.format(DEFAULT), [R, M], "Maven's configuration"),
        (MIRROR.format("external:http:*", "") + PROFILE.format(DEFAULT), [R, M, CENTRAL], "Maven's configuration"),
    ],
)  # fmt: skip
def test_which_repositories_are_asked_in_which_order(
    tmp_path: Path, settings: str, urls: list[str], origin: str
) -> None:
    """Those of active profiles, then the central one, each behind the first mirror that stands for it."""
    found = configured(tmp_path, settings)
    assert ([index.url for index in found.indexes], found.origin) == (urls, origin)


@pytest.mark.parametrize(
    ("told", "used"),
    [
        ("-s {0}", "{0}"), ("-B --settings {0} -X", "{0}"), ("--settings={0}", "{0}"), ("-s={0}", "{0}"),
        ("-s", ""), ("-X={0}", ""), ("-gs {0}", "{0}"), ("--global-settings={0}", "{0}"),
        ("-s /nothing -gs {0}", "{0}"),
        ("-s {0} -gs /nothing", "{0}"),
    ],
)  # fmt: skip
def test_options_name_settings_files(tmp_path: Path, told: str, used: str) -> None:
    """The user's and the installation's, in all forms; what is not there does not count."""
    other = tmp_path / "other.xml"
    other.write_text(f"<settings>{MIRROR.format('*', '')}</settings>")
    found = configured(tmp_path, "", MAVEN_ARGS=told.format(other))
    assert [index.url for index in found.indexes] == [M if used else CENTRAL]


def test_the_installations_settings_count_after_the_users(tmp_path: Path) -> None:
    """The user's login wins; a login without a user is none."""
    (tmp_path / "maven/conf").mkdir(parents=True)
    login = "<servers><server><id>m</id><username>{}</username><password>p</password></server></servers>"
    (tmp_path / "maven/conf/settings.xml").write_text(
        f"<settings>{MIRROR.format('*', '')}{login.format('them')}</settings>"
    )
    (tmp_path / "home/.m2").mkdir(parents=True)
    home = {"HOME": str(tmp_path / "home")}
    for own, user in (("", "them"), (login.format("me"), "me"), (login.format(""), "them")):
        (tmp_path / "home/.m2/settings.xml").write_text(f"<settings>{own}</settings>")
        (index,) = maven_settings(home, tmp_path / "maven").indexes
        assert index.credentials is not None
        assert (index.url, index.credentials.username) == (M, user)


@pytest.mark.parametrize(
    ("options", "proxy"),
    [
        ("-Dhttps.proxyHost=a -Dhttp.proxyHost=b", "http://a:443"),
        ("-Dhttp.proxyHost=b", "http://b:80"),
        ("-Dhttp.proxyHost=b -Dhttp.proxyPort=8", "http://b:8"),
        ("-Dhttp.proxyHost=b -Dhttp.nonProxyHosts=central.example", None),
        ("-Dhttp.proxyHost=b -Dhttp.nonProxyHosts=*.other", "http://b:80"),
        ("-Dhttp.proxyPort=8", None),
    ],
)
def test_javas_properties_name_a_proxy(tmp_path: Path, options: str, proxy: str | None) -> None:
    """Wherever they are given; https before http."""
    for number, variable in enumerate(("MAVEN_OPTS", "MAVEN_ARGS", "JAVA_TOOL_OPTIONS")):
        found = configured(tmp_path / str(number), "", **{variable: options}).proxy
        assert (found.get_secret_value() if found else None) == proxy


def test_a_proxy_of_settings_may_have_a_login_and_no_port(tmp_path: Path) -> None:
    """The first that is active counts; signs in a login are quoted."""
    proxies = (
        "<proxies><proxy><active>false</active><host>no</host></proxy><proxy><port>9</port></proxy>"
        "<proxy><host>p.example</host><username>a@b</username><password>c/d</password></proxy></proxies>"
    )
    found = configured(tmp_path, proxies, MAVEN_OPTS="-Dhttps.proxyHost=other").proxy
    assert found is not None
    assert found.get_secret_value() == "http://a%40b:c%2Fd@p.example:8080"
