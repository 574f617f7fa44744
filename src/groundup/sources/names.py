"""From imported names to registry names, and word lists."""

import json
import re
import sys
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from groundup.languages.spelling import python_name


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OLD_STANDARD = words(
    """
    __builtin__ __main__ asynchat asyncore audioop binhex BaseHTTPServer Bastion CGIHTTPServer ConfigParser
    Cookie cPickle cStringIO cgi cgitb chunk cookielib commands copy_reg crypt distutils dummy_thread
    dummy_threading dl exceptions formatter gdbm htmlentitydefs HTMLParser httplib imghdr imp lib2to3 macpath
    mailcap md5 mimetools msilib nis nntplib ossaudiodev parser pipes popen2 Queue repr rexec robotparser sets
    sha SimpleHTTPServer SimpleXMLRPCServer smtpd SocketServer sndhdr spwd StringIO sunau symbol telnetlib
    thread Tkinter tkMessageBox tkFileDialog ttk urllib2 urlparse user UserDict UserList UserString uu whichdb
    xdrlib xmlrpclib _winreg _typeshed compression annotationlib tkinter java org javax com test __future__
    dbhash bsddb anydbm dumbdbm fpformat future_builtins ihooks imputil mhlib mimify multifile new os2emxpath
    posixfile pwd rfc822 sgmllib statvfs sv symtable toaiff xmllib js pyodide clr System
    """
)


NAMESPACES = words(
    """
    google azure zope backports jaraco sphinxcontrib opentelemetry ruamel plone collective repoze paste Products
    z3c zc oslo airflow autogluon awslabs azureml databricks dissect llama_index livekit opencensus
    snowflake soda winrt
    """
)
"""Import roots that many distributions share; the part below decides."""


def normalised(name: str) -> str:
    """Return a Python distribution's name as PEP 503 spells it."""
    return python_name(name)


def is_standard(module: str) -> bool:
    """Whether Python itself provides the top of *module*, in any version from 2.7 on."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in _OLD_STANDARD


class ModuleProvider(NamedTuple):
    """Who provides an imported module."""

    name: str
    """Normalised distribution name; empty: none has such a name."""
    known: bool
    """False: no data names it, and the import's own name is the guess."""


@cache
def table(name: str, owner: str = "groundup.sources") -> dict[str, str]:
    """Return the `names` of the data file *name* of a package."""
    text = files(owner).joinpath(f"data/{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, str] = json.loads(text)["names"]
    return loaded


@cache
def popular() -> frozenset[str]:
    """Return the names of the most downloaded Python distributions, normalised."""
    text = files("groundup.sources").joinpath("data/python_popular.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


@cache
def _popular_by_letters() -> dict[str, str]:
    return {name.replace("-", ""): name for name in sorted(popular(), reverse=True)}


def _called(dotted: str) -> str:
    """Return the popular distribution that *dotted* spells, but for hyphens and an API version; or nothing."""
    name = normalised(re.sub(r"_v\d\w*$", "", dotted))
    name = re.sub("^airflow-providers-", "apache-airflow-providers-", name)
    return name if name in popular() else _popular_by_letters().get(name.replace("-", ""), "")


@cache
def companions() -> dict[str, list[str]]:
    """Return well-known distributions with the distributions that they require themselves."""
    text = files("groundup.sources").joinpath("data/python_companions.json").read_text(encoding="utf-8")
    loaded: dict[str, list[str]] = json.loads(text)["requires"]
    return loaded


def python_provider(module: str, *, shared: bool = False) -> ModuleProvider:
    """Return the distribution that provides *module*: the longest known prefix decides, by a table or, in a shared
    root, by being called so.

    *shared*: other distributions have the top of it, too. A compiled module with `_` before a known name is that
    one's; `known` is False and the name empty for others, which no distribution is called.
    """
    known = table("python_names")
    parts = module.split(".")
    shares_root = shared or parts[0] in NAMESPACES
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        found = known.get(prefix) or (_called(prefix) if shares_root and length > 1 else "")
        if found:
            return ModuleProvider(found, known=True)
    if parts[0].startswith("_"):
        return ModuleProvider(known.get(parts[0].lstrip("_"), ""), known=parts[0].lstrip("_") in known)
    guess = ".".join(parts[: 2 if shares_root else 1])
    called = _called(guess)
    return ModuleProvider(called or normalised(guess), known=bool(called))
