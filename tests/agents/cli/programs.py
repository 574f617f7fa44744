"""Programs that tests run as agents, and the presets that say how."""

import json
from pathlib import Path

ASKING = """
import json, os, sys, urllib.request

def ask(messages):
    body = json.dumps({"model": os.environ["MODEL"], "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["KEY"]}
    request = urllib.request.Request(os.environ["URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

task = open(sys.argv[1]).read()
"""

NOSY = """
import json, os, socket, subprocess, sys, urllib.error, urllib.request

SECRETS = [part + "-of-the-host" for part in ("key", "hidden-test", "file")]
found, readable, outside = [], [], []

def look(place):
    try:
        with open(place, "rb") as file:
            data = file.read(4_000_000).decode(errors="replace")
    except OSError:
        return
    found.extend((place, secret) for secret in SECRETS if secret in data)

for name, value in os.environ.items():
    found.extend((name, secret) for secret in SECRETS if secret in value)
for process in filter(str.isdigit, os.listdir("/proc")):
    for part in ("environ", "cmdline", "mounts"):
        look(f"/proc/{process}/{part}")
look("/etc/shadow")
for root in ("/workspace", "/home", "/root", "/tmp", "/var", "/opt", "/run", "/srv", "/mnt", "/media", "/etc"):
    for folder, folders, files in os.walk(root):
        if ".git" in folders:
            found.append((folder, ".git"))
        for name in files:
            if os.path.isfile(os.path.join(folder, name)) and folder != os.path.dirname(__file__):
                look(os.path.join(folder, name))
for address in json.loads(sys.argv[1]):
    try:
        socket.create_connection(tuple(address), timeout=3).close()
        outside.append(address)
    except OSError:
        pass
try:
    outside.append(socket.gethostbyname("example.com"))
except OSError:
    pass

def status(name):
    try:
        return urllib.request.urlopen(os.environ["PIP_INDEX_URL"] + name + "/", timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code

pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", "/tmp/got"]
report = {
    "found": found,
    "outside": outside,
    "index": {name: status(name) for name in ("helper", "original", "Original", "ORIGINAL")},
    "pip": {name: subprocess.run([*pip, name], capture_output=True).returncode for name in ("helper", "original")},
    "host": [
        name
        for place in ("/root", "/srv", "/mnt", "/media", "/var/lib", "/var/log")
        for _, _, files in os.walk(place)
        for name in files
    ],
    "rights": os.geteuid(),
}
with open("/workspace/report.json", "w") as file:
    json.dump(report, file)
"""


def preset(folder: Path, program: str, *arguments: str, **more: object) -> str:
    """Write the preset of a Python *program* and return its path."""
    lines = {
        "name": "own",
        "description": "of a test",
        "protocol": "chat",
        "run": ["/opt/venv/bin/python", "{home}/program.py", *arguments],
        **more,
    }
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
    text += '[environment]\nURL = "{chat_url}"\nKEY = "{key}"\nMODEL = "{model}"\n'
    text += f'[files]\n"program.py" = {json.dumps(program)}\n'
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)
