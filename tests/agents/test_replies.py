"""Replies of known kind: the files of those that hand some over, and what the others are. One table."""

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundup.agents.answers import fenced
from groundup.agents.patches import UnfitPatchError, patched
from groundup.agents.replies import ReplyKind, read_reply
from groundup.domain.conversations import Finish
from tests.agents.fakes import says

A, B = "def a():\n    return 1\n", "from a import a\n\nprint(a())\n"
BOTH = {"pkg/a.py": A, "main.py": B}
SEEDS = {"pkg/a.py": b"def a():\n    return 0\n", "README.md": b"# Title\n\nOld.\n"}
CHANGED = {"pkg/a.py": A}


@dataclass(frozen=True)
class Case:
    """A reply, and what it is."""

    text: str
    files: dict[str, str] = field(default_factory=dict)
    kind: ReplyKind = ReplyKind.FILES
    finish: Finish = "stop"


def no(text: str, kind: ReplyKind, finish: Finish = "stop") -> Case:
    """Return a reply without a file."""
    return Case(text, {}, kind, finish)


REPLIES = {
    # --- fences
    "the form that is asked for": Case(f"Here.\n\n{fenced('pkg/a.py', A)}\n{fenced('main.py', B)}", BOTH),
    "a name before the fence": Case(
        f"### `pkg/a.py`\n\n```python\n{A}```\n\n**main.py**\n```python\n{B}```\n", BOTH
    ),
    "a name on the fence": Case(f"```python:pkg/a.py\n{A}```\n```python main.py\n{B}```\n", BOTH),
    "a name inside the fence": Case(
        f"```python\n# pkg/a.py\n{A}```\n```python\n# file: main.py\n{B}```\n",
        {"pkg/a.py": f"# pkg/a.py\n{A}", "main.py": f"# file: main.py\n{B}"},
    ),
    "a name after the fence": Case(f"```python\n{A}```\nSave this as `pkg/a.py`.\n\nThat is all.", CHANGED),
    "a name in the sentence before": Case(
        f"First create the module `pkg/a.py` with this content:\n\n```python\n{A}```\n"
        f"Then the file `main.py`:\n```python\n{B}```\nRun `python main.py`:\n```bash\npython main.py\n```\n",
        BOTH,
    ),
    "fences in a list": Case(
        "1. `pkg/a.py`\n   ```python\n   def a():\n       return 1\n   ```\n"
        "10. **main.py**\n\n    ```python\n    from a import a\n\n    print(a())\n    ```\n",
        BOTH,
    ),
    "a name in a comment before the fence": Case(f"<!-- file: pkg/a.py -->\n```python\n{A}```\n", CHANGED),
    "a name in a comment with rules": Case(
        f"```python\n# === pkg/a.py ===\n{A}```\n", {"pkg/a.py": f"# === pkg/a.py ===\n{A}"}
    ),
    "thoughts that begin in the prompt": Case(
        f"Hm.\n```path=draft.py\nx\n```\n</think>\n{fenced('pkg/a.py', A)}", CHANGED
    ),
    "thoughts first": Case(f"<think>\n```path=draft.py\nx\n```\n</think>\n{fenced('pkg/a.py', A)}", CHANGED),
    "tildes": Case(f"~~~python path=pkg/a.py\n{A}~~~\n", CHANGED),
    "line ends of Windows": Case(f"```path=pkg/a.py\r\n{A}```\r\n", CHANGED),
    # --- tags
    "tags with an attribute": Case(f'<file path="pkg/a.py">\n{A}</file>\n<file path="main.py">\n{B}</file>', BOTH),
    "tags around names": Case(
        f"<files><file><path>pkg/a.py</path><content>\n{A}</content></file>\n"
        f"<file><path>main.py</path><content>\n{B}</content></file></files>",
        BOTH,
    ),
    "tags with raw data": Case(f'<file name="pkg/a.py"><![CDATA[\n{A}]]></file>', CHANGED),
    "tags with entities": Case(
        '<file path="pkg/a.py">\nx = 1 &lt; 2 &amp;&amp; y\n</file>', {"pkg/a.py": "x = 1 < 2 && y\n"}
    ),
    "tags around fences": Case(f'<file path="pkg/a.py">\n```python\n{A}```\n</file>', CHANGED),
    "tags in a fence": Case(f'```xml\n<file path="pkg/a.py">\n{A}</file>\n```\n', CHANGED),
    "artifacts (bolt)": Case(
        f'<boltArtifact id="x" title="App"><boltAction type="file" filePath="pkg/a.py">{A}</boltAction>'
        f'<boltAction type="shell">pip install x</boltAction></boltArtifact>',
        CHANGED,
    ),
    "a tool's call in words (Cline)": Case(
        f"<write_to_file>\n<path>pkg/a.py</path>\n<content>\n{A}</content>\n</write_to_file>", CHANGED
    ),
    "documents (Anthropic)": Case(
        f'<document index="1">\n<source>pkg/a.py</source>\n<document_content>\n{A}</document_content></document>',
        CHANGED,
    ),
    # --- JSON
    "JSON, texts by path": Case(json.dumps(BOTH), BOTH),
    "JSON, a list": Case(json.dumps([{"path": name, "content": text} for name, text in BOTH.items()]), BOTH),
    "JSON, a list under a name": Case(
        json.dumps({"files": [{"filename": name, "code": text} for name, text in BOTH.items()], "done": True}),
        BOTH,
    ),
    "JSON in a fence": Case(f"Here:\n```json\n{json.dumps({'files': BOTH}, indent=1)}\n```\n", BOTH),
    "JSON, lines": Case(json.dumps({"path": "pkg/a.py", "content": A.splitlines()}), CHANGED),
    "JSON, an object in each line": Case(
        "\n".join(json.dumps({"path": name, "content": text}) for name, text in BOTH.items()), BOTH
    ),
    "JSON after words": Case(f"Here are the files:\n\n{json.dumps({'files': BOTH})}\n\nThat is all.", BOTH),
    "a tool's call in words (Qwen)": Case(
        "<tool_call>\n"
        + json.dumps({"name": "write_file", "arguments": {"path": "pkg/a.py", "content": A}})
        + "\n</tool_call>",
        CHANGED,
    ),
    # --- shells, markers
    "here-documents by tee": Case(f"```bash\ntee pkg/a.py > /dev/null << 'PY'\n{A}PY\n```\n", CHANGED),
    "here-documents": Case(
        f"```bash\nmkdir -p pkg\ncat > pkg/a.py <<'EOF'\n{A}EOF\ncat <<EOF > main.py\n{B}EOF\n```\n", BOTH
    ),
    "markers": Case(f"=== pkg/a.py ===\n{A}\n=== main.py ===\n{B}", BOTH),
    "markers with a word": Case(f"# FILE: pkg/a.py\n{A}\n# FILE: main.py\n{B}", BOTH),
    "markers with ends": Case(
        f"<<<BEGIN FILE: pkg/a.py>>>\n{A}<<<END FILE>>>\n\n<<<BEGIN FILE: main.py>>>\n{B}<<<END FILE>>>\n", BOTH
    ),
    "a bare word": Case(f"FILE: pkg/a.py\n{A}\nFILE: main.py\n{B}", BOTH),
    # --- changes
    "search and replace (aider)": Case(
        "pkg/a.py\n```python\n<<<<<<< SEARCH\n    return 0\n=======\n    return 1\n>>>>>>> REPLACE\n```\n", CHANGED
    ),
    "search and replace, a new file": Case(
        f"main.py\n```python\n<<<<<<< SEARCH\n=======\n{B}>>>>>>> REPLACE\n```\n", {"main.py": B}
    ),
    "a diff": Case(
        "```diff\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n def a():\n-    return 0\n+    return 1\n```\n",
        CHANGED,
    ),
    "a diff with wrong numbers": Case(
        "diff --git a/pkg/a.py b/pkg/a.py\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -10,5 +12,7 @@ def a\n"
        "-    return 0\n+    return 1\n",
        CHANGED,
    ),
    "a diff with a new file": Case(
        "```diff\n--- /dev/null\n+++ b/main.py\n@@ -0,0 +1,3 @@\n+from a import a\n+\n+print(a())\n```\n",
        {"main.py": B},
    ),
    "apply_patch": Case(
        "*** Begin Patch\n*** Add File: main.py\n+from a import a\n+\n+print(a())\n*** Update File: pkg/a.py\n"
        "@@ def a():\n-    return 0\n+    return 1\n*** End Patch\n",
        BOTH,
    ),
    "a comma at the end of JSON": Case(
        "{" + "".join(f"{json.dumps(n)}: {json.dumps(t)}, " for n, t in BOTH.items()) + "}", BOTH
    ),
    # --- names as models decorate them
    **{
        f"named as in {line.format('x')!r}": Case(
            f"{line.format('pkg/a.py')}\n\n```python\n{A}```\n\n{line.format('main.py')}\n```python\n{B}```\n",
            BOTH,
        )
        for line in (
            "**1. File: `{}`**",
            "**File 2: {}**",
            "## File: {} (new)",
            "## Step 3: Create `{}`",
            "#### 3. `{}`:",
            "### \N{PAGE FACING UP} `{}` \N{EM DASH} the module",
            "- **{}**: what it does",
            "_{}_",
            "[{}]",
            "[`{}`](x)",
            "<summary><code>{}</code></summary>",
            "\u6587\u4ef6\uff1a`{}`",
            "Datei: `{}`",
            "{}\n-------",
            "Contents of `{}`:",
            "### `{}`\n\nThis module is needed by others.",
        )
    },
    "a name in a comment on the fence": Case(f"```python # pkg/a.py\n{A}```\n```python (main.py)\n{B}```\n", BOTH),
    "names without an ending": Case(
        "### Dockerfile\n\n```dockerfile\nFROM scratch\n```\n", {"Dockerfile": "FROM scratch\n"}
    ),
    "a comment below the first line of a script": Case(
        f"```python\n#!/usr/bin/env python3\n# main.py\n{B}```\n",
        {"main.py": f"#!/usr/bin/env python3\n# main.py\n{B}"},
    ),
    "several files in a fence": Case(
        f"```python\n# --- pkg/a.py ---\n{A}\n# --- main.py ---\n{B}```\n",
        {"pkg/a.py": f"# --- pkg/a.py ---\n{A}", "main.py": f"# --- main.py ---\n{B}"},
    ),
    "names of two forms": Case(
        f"### pkg/a.py\n```python\n{A}```\nThen put this in `main.py`:\n```python\n{B}```\n", BOTH
    ),
    "an example of a file that is there": Case(
        f"### pkg/a.py\n```python\n{A}```\nUse `pkg/a.py` like this:\n```python\nimport pkg.a\n```\n", CHANGED
    ),
    "how to run a file": Case(
        f"### pkg/a.py\n```python\n{A}```\n### `pkg/a.py`\n```bash\npython pkg/a.py\n```\n", CHANGED
    ),
    "a fence around all": Case(
        f"```markdown\n# All\n\n## pkg/a.py\n\n```python\n{A}```\n\n## main.py\n```python\n{B}```\n```\n", BOTH
    ),
    # --- what a template leaves
    "other thoughts": Case(f"[THINK]### main.py\n```python\nx\n```\n[/THINK]{fenced('pkg/a.py', A)}", CHANGED),
    "channels": Case(
        f"<|channel|>analysis<|message|>### x.py\n```\nx\n```<|end|><|start|>assistant<|channel|>final<|message|>"
        f"**pkg/a.py**\n```python\n{A}```\n<|return|>",
        CHANGED,
    ),
    "the end of a turn": Case(f"{json.dumps(BOTH)}</s>", BOTH),
    # --- calls of tools in words
    "a call in tags (Claude)": Case(
        f'<invoke name="create"><parameter name="path">pkg/a.py</parameter>'
        f'\n<parameter name="file_text">{A}</parameter></invoke>',
        CHANGED,
    ),
    "a call in tags (Qwen)": Case(
        f"<tool_call>\n<function=write_file>\n<parameter=path>\npkg/a.py\n</parameter>\n"
        f"<parameter=content>\n{A}\n</parameter>\n</function>\n</tool_call>",
        {"pkg/a.py": f"{A}\n"},
    ),
    "a call by keys (GLM)": Case(
        f"<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>pkg/a.py</arg_value>\n"
        f"<arg_key>content</arg_key>\n<arg_value>{A}</arg_value>\n</tool_call>",
        CHANGED,
    ),
    "a call after a sign (Mistral)": Case(
        "[TOOL_CALLS]" + json.dumps([{"name": "write", "arguments": {"path": "pkg/a.py", "content": A}}]), CHANGED
    ),
    "a call as text in JSON": Case(
        json.dumps(
            {
                "tool_calls": [
                    {"function": {"name": "w", "arguments": json.dumps({"path": "pkg/a.py", "content": A})}}
                ]
            }
        ),
        CHANGED,
    ),
    "a call in Python (Gemini)": Case(
        f"```tool_code\nprint(api.write_file(path='pkg/a.py', content={A!r}))\n```\n", CHANGED
    ),
    "Python that writes": Case(
        f"```python\nfrom pathlib import Path\nPath('pkg/a.py').write_text({A!r})\n```\n", CHANGED
    ),
    "a change by a call": Case(
        json.dumps({"command": "str_replace", "path": "pkg/a.py", "old_str": "return 0", "new_str": "return 1"}),
        CHANGED,
    ),
    "a patch in JSON": Case(
        json.dumps(
            {
                "cmd": [
                    "apply_patch",
                    "*** Begin Patch\n*** Update File: pkg/a.py\n@@\n-    return 0\n+    return 1\n"
                    "*** End Patch\n",
                ]
            }
        ),
        CHANGED,
    ),
    "an artifact (Claude)": Case(
        f'<antArtifact identifier="a" type="code" title="pkg/a.py">\n{A}</antArtifact>', CHANGED
    ),
    "tags in capitals": Case(f"<FILE>\n<PATH>pkg/a.py</PATH>\n<CONTENT>\n{A}</CONTENT>\n</FILE>", CHANGED),
    "JSON by folders": Case(json.dumps({"pkg": {"a.py": A}, "main.py": B}), BOTH),
    "JSON after a word": Case(f"Sure! {json.dumps([{'file_name': 'pkg/a.py', 'code': A}])}", CHANGED),
    "YAML": Case(
        "```yaml\nfiles:\n  - path: pkg/a.py\n    content: |\n      def a():\n          return 1\n```\n", CHANGED
    ),
    # --- more changes
    "a diff under a heading": Case(
        "### pkg/a.py\n```diff\n def a():\n-    return 0\n+    return 1\n```\n", CHANGED
    ),
    "signs of a merge": Case(
        "pkg/a.py\n```\n<<<<<<< HEAD\n    return 0\n=======\n    return 1\n>>>>>>> new\n```\n", CHANGED
    ),
    "a change in tags (Roo)": Case(
        "<apply_diff>\n<path>pkg/a.py</path>\n<diff>\n<<<<<<< SEARCH\n:start_line:2\n-------\n    return 0\n"
        "=======\n    return 1\n"
        ">>>>>>> REPLACE\n</diff>\n</apply_diff>",
        CHANGED,
    ),
    "a diff that renames": Case(
        "diff --git a/pkg/a.py b/b.py\nrename from pkg/a.py\nrename to b.py\n--- a/pkg/a.py\n+++ b/b.py\n"
        "@@ -2 +2 @@\n-    return 0\n+    return 1\n",
        {"b.py": A},
    ),
    "a patch by mail": Case(
        "Subject: [PATCH] x\n\n---\n main.py | 3 +++\n\ndiff --git a/main.py b/main.py\n--- /dev/null\n"
        "+++ b/main.py\n@@ -0,0 +1,3 @@\n"
        "+from a import a\n+\n+print(a())\n-- \n2.43.0\n",
        {"main.py": B},
    ),
    # --- no file
    "a change of other lines": no(
        json.dumps({"path": "pkg/a.py", "old_str": "return 7", "new_str": "return 1"}), ReplyKind.PATCH
    ),
    "a refusal in Chinese": no("\u62b1\u6b49\uff0c\u6211\u65e0\u6cd5\u534f\u52a9\u3002", ReplyKind.REFUSAL),
    "a refusal in French": no("Je suis d\u00e9sol\u00e9, mais je ne peux pas.", ReplyKind.REFUSAL),
    "a polite refusal": no("Thank you for asking, but I'm not able to help with this.", ReplyKind.REFUSAL),
    "a refusal by rules": no("This goes against my guidelines, so no code follows.", ReplyKind.REFUSAL),
    "cut in its thoughts": no("<think>\n### pkg/a.py\n```python\nx\n```\nHm", ReplyKind.CUT, "length"),
    "prose": no(
        "The library needs a parser and a printer. I would begin with the parser.",
        ReplyKind.PROSE,
    ),
    "a question": no("Which version of Python do you want me to use?", ReplyKind.PROSE),
    "commands only": no("```bash\npip install x\n```\n", ReplyKind.PROSE),
    "a refusal": no("I'm sorry, but I can't help with that.", ReplyKind.REFUSAL),
    "another refusal": no("I cannot write this library, as it may infringe a licence.", ReplyKind.REFUSAL),
    "stopped by a filter": no("", ReplyKind.REFUSAL, "content_filter"),
    "empty": no("", ReplyKind.EMPTY),
    "only thoughts": no("<think>Let me see.</think>\n", ReplyKind.EMPTY),
    "cut by the limit": no("```path=pkg/a.py\ndef a():\n    ret", ReplyKind.CUT, "length"),
    "cut without a word": no("```path=pkg/a.py\ndef a():\n    ret", ReplyKind.CUT),
    "cut JSON": no('{"files": [{"path": "pkg/a.py", "content": "def a():\\n    ret', ReplyKind.CUT),
    "a cut tag": no('<file path="pkg/a.py">\ndef a():\n    ret', ReplyKind.CUT),
    "a patch of other lines": no(
        "```diff\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n-    return 7\n+    return 1\n```\n",
        ReplyKind.PATCH,
    ),
    "a patch of no such file": no(
        "lib.py\n<<<<<<< SEARCH\n    return 0\n=======\n    return 1\n>>>>>>> REPLACE\n", ReplyKind.PATCH
    ),
    "code without a name": no(f"```python\n{A}```\n", ReplyKind.NAMELESS),
    "outside": no("```path=../../etc/passwd\nx\n```\n", ReplyKind.OUTSIDE),
}


@pytest.mark.parametrize("case", REPLIES.values(), ids=REPLIES)
def test_a_reply_is_what_it_is(case: Case) -> None:
    """All files are read as they are, and a reply without one is named."""
    found = read_reply(says(case.text).but(finish=case.finish), SEEDS.get)
    assert found.kind is case.kind, found
    assert {name: content.decode() for name, content in found.files.items()} == case.files


HOLDS = st.lists(
    st.sampled_from(
        [
            "<file path='x.py'>", "</file>", "=== y.py ===", "# FILE: z.py", "{", "<<<<<<< SEARCH", "=======",
            "--- a/q",
            ">>>>>>> REPLACE", "cat > w.py <<EOF", "EOF", "*** Begin Patch", "text", "",
        ]
    ),
    max_size=6,
).map("\n".join)  # fmt: skip


@given(HOLDS)
@example("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE")
def test_what_a_file_holds_is_no_file(content: str) -> None:
    """In the form that is asked for, nothing in a file is read as another one."""
    assert set(read_reply(says(f"Here.\n{fenced('a.txt', content)}")).files) <= {"a.txt"}


@given(
    st.text(max_size=300),
    st.lists(st.sampled_from(["<file path='a'>", "```", "{", "<<<<<<< SEARCH\n", "\n=== a.py ===\n"])),
)
def test_any_text_is_some_reply(text: str, pieces: list[str]) -> None:
    """Nothing makes the reader fail, and no path leads outside."""
    found = read_reply(says(text.join(pieces)), SEEDS.get)
    assert (found.kind is ReplyKind.FILES) is bool(found.files)
    assert not any(path.startswith("/") or ".." in path.split("/") for path in found.files)


def test_a_patch_says_why_it_does_not_apply() -> None:
    """The file, and the lines that are not in it."""
    text = "a.py\n<<<<<<< SEARCH\nx = 2\n=======\nx = 3\n>>>>>>> REPLACE\n"
    with pytest.raises(UnfitPatchError, match=r"the patch of a\.py does not apply: 'x = 2' is not in it"):
        patched(text, {"a.py": b"x = 1\n"}.get)
