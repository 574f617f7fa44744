"""What a scripted model replies to each program, so that the program hands in a given tree.

Most programs have a shell: one call unpacks the tree. aider takes files from a reply. MetaGPT's roles ask for a
document each, in a form of its own, then for one file at a time; rules answer by what a prompt asks for.
"""

import base64
import io
import json
import re
import tarfile
from pathlib import Path

SHELLS: dict[str, tuple[str, dict[str, object]]] = {
    "claude-code": ("Bash", {"command": "{}"}),
    "cline": ("run_commands", {"commands": ["{}"]}),
    "codex": ("exec_command", {"cmd": "{}"}),
    "continue": ("Bash", {"command": "{}"}),
    "copilot": ("bash", {"command": "{}", "description": "write the library"}),
    "deepagents": ("execute", {"command": "{}"}),
    "deepcode": ("bash", {"command": "{}"}),
    "gemini-cli": ("run_shell_command", {"command": "{}", "description": "write the library"}),
    "gptme": ("shell", {"command": "{}"}),
    "grok-cli": ("bash", {"command": "{}"}),
    "hermes": ("terminal", {"command": "{}"}),
    "kimi-cli": ("Shell", {"command": "{}"}),
    "mini-swe-agent": ("bash", {"command": "{}"}),
    "mistral-vibe": ("bash", {"command": "{}"}),
    "ms-agent": ("code_executor---shell_executor", {"command": "{}"}),
    "openhands": ("terminal", {"command": "{}", "security_risk": "LOW"}),
    "opencode": ("bash", {"command": "{}", "description": "write the library"}),
    "pi": ("bash", {"command": "{}"}),
    "qwen-agent": ("shell", {"command": "{}"}),
    "qwen-code": ("run_shell_command", {"command": "{}", "is_background": False}),
}
"""What each program calls its shell, and that tool's arguments."""
LEFT_OUT = ("tests", "PKG-INFO")
"""Of an original: its tests, and what its build left."""


def script_for(program: str, tree: Path) -> dict[str, object] | None:
    """Return the script with which *program* hands in *tree*; None where nobody wrote one."""
    if program == "aider":  # its prompts hold replies as examples, so turns cannot be counted
        return {"rule": [{"when": ".", "content": in_whole(tree)}]}
    if program == "metagpt":
        return {"rule": company(tree)}
    if program not in SHELLS:
        return None
    tool, arguments = SHELLS[program]
    command = writing(tree)
    filled = {
        name: [command] if value == ["{}"] else command if value == "{}" else value
        for name, value in arguments.items()
    }
    return {"turn": [{"calls": [{"tool": tool, "arguments": filled}]}, {"content": "Done."}]}


def writing(tree: Path) -> str:
    """Return the shell command that writes *tree* into the working folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path in handed_in(tree):
            archive.add(path, path.name)
    return f"echo {base64.b64encode(packed.getvalue()).decode()} | base64 -d | tar xJ && ls"


def handed_in(tree: Path) -> list[Path]:
    """Return what of *tree* is the library: not its tests, nor what its build left."""
    return [one for one in sorted(tree.iterdir()) if one.name not in LEFT_OUT and one.suffix != ".egg-info"]


def texts(tree: Path) -> dict[str, str]:
    """Return the files of *tree* by their paths."""
    files = [path for top in handed_in(tree) for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    return {str(path.relative_to(tree)): path.read_text() for path in files if path.is_file()}


def in_whole(tree: Path) -> str:
    """Return the files of *tree* as a reply that gives them whole."""
    return "\n".join(f"{name}\n```\n{text}```\n" for name, text in texts(tree).items())


def company(tree: Path) -> list[dict[str, str]]:
    """Return rules for MetaGPT: requirements, design, tasks, each file, its review, the summary, its judgement.

    Packages go into the tasks, from which MetaGPT writes requirements.txt.
    """
    files = texts(tree)
    packages = files.pop("requirements.txt", "").split()
    flow = "sequenceDiagram\n    participant M as Main"
    requirements = {
        "Language": "en_us",
        "Programming Language": "Python",
        "Original Requirements": "What the task says",
        "Project Name": "the_project",
        "Product Goals": ["Do what the task says"],
        "User Stories": ["As a user, I want what the task says"],
        "Competitive Analysis": ["None: nothing to compare"],
        "Competitive Quadrant Chart": 'quadrantChart\n    title "None"\n    "Ours": [0.5, 0.6]',
        "Requirement Analysis": "All of it is in the task.",
        "Requirement Pool": [["P0", "What the task says"]],
        "UI Design draft": "None.",
        "Anything UNCLEAR": "",
    }
    design = {
        "Implementation approach": "As the task says.",
        "File list": [*files],
        "Data structures and interfaces": "classDiagram\n    class Main",
        "Program call flow": flow,
        "Anything UNCLEAR": "",
    }
    tasks = {
        "Required packages": packages,
        "Required Other language third-party packages": [],
        "Logic Analysis": [[name, "As the task says"] for name in files],
        "Task list": [*files],
        "Full API spec": "",
        "Shared Knowledge": "None.",
        "Anything UNCLEAR": "",
    }
    documents = (("Original Requirements", requirements), ("File list", design), ("Task list", tasks))
    return [
        *(
            {
                "when": rf"(?m)^- {key}: <class|^- {key}: typing",
                "content": f"[CONTENT]\n{json.dumps(form)}\n[/CONTENT]",
            }
            for key, form in documents
        ),
        {"when": "## Code Review Result: str", "content": "## Code Review Result\nLGTM\n"},
        {"when": "## Code Review All: Please", "content": "## Summary\nAll files are there.\n\n## TODOs\n{}\n"},
        {"when": "Does the above log indicate anything", "content": '{"answer": "YES"}'},
        *(
            {"when": rf"(?m)^## Code: {re.escape(name)}\. Write", "content": f"## Code: {name}\n```\n{text}```\n"}
            for name, text in files.items()
        ),
    ]
