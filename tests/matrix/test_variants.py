# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variants of the two real files that nobody has seen yet: one valid patch or a refusal, and the bytes come back."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_files import one_release
from torch_shapes import RECOVERY_MODULE, SED_RENDEZVOUS, SED_RUN

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher

VERSIONS = ("1.9.1", "2.5.1", "2.6.0", "2.13.0", "2.15.0")
TORCH = patcher.Torch("/torch", "2.13.0", [])
RUNS = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

RUN_INSERTS = (
    "# a comment\n",
    "\n",
    "\x0c\n",
    "import os\n",
    "import os.path\n",
    "import os, re\n",
    "import os  # for the environment\n",
    "import torch\n",
    "from os import environ\n",
    "from torch import nn\n",
    "import mindx_elastic.api\n",
    "import mindx_elastic.api  # by hand\n",
    "import taskd.python.adaptor.patch\n",
    "import my.module  # mindcluster.recovery\n",
    "import mindx_elastic\n",
    "from mindx_elastic import api\n",
    "try:\n    import mindx_elastic.api\nexcept ImportError:\n    pass\n",
    "if True:\n\timport os\n",
    '"""\nimport mindx_elastic.api\n| import os |\n"""\n',
    "'import os'; import os\n",
    "x = 1; \\\nimport os\n",
    "if True: \\\nimport os\n",
    "@staticmethod\nclass Decorated:\n    import torch\n",
    "def helper():\n    import torch\n    import os\n",
    "print('训练')\n",
    "(\n",
)
RENDEZVOUS_INSERTS = (
    "# a comment\n",
    "\n",
    "    # a comment in a function\n",
    "    if _torchelastic_use_agent_store():\n",
    "    if _agent_store_serves(hostname, port):\n        pass\n",
    "    if _torchelastic_use_agent_store():\n        return None\n",
    "    return None\n",
    "    raise ValueError\n",
    "    log(hostname); \\\n",
    '    """\n    if _torchelastic_use_agent_store():\n    """\n',
    "@decorator\n",
    "import os\n",
    "def _create_c10d_store():\n    pass\n",
    "    PrefixStore = None\n",
    "    import os\n",
    "(\n",
)


@functools.cache
def sources(name: str) -> list[bytes]:
    return [one_release(version).files["x86_64"]["torch/distributed/" + name] for version in VERSIONS]


#: What the vendor's two commands match, and what they put before each match.
SEDS = {
    SED_RUN: (b"import os", [b"import mindx_elastic.api"]),
    SED_RENDEZVOUS: (
        b"if _torchelastic_use_agent_store():",
        [b"    if _torchelastic_use_agent_store():"] + [b"        " + line.encode() for line in patcher.BLOCK],
    ),
}


def by_sed(script: str, text: bytes, times: int) -> bytes:
    """What the vendor's command makes of a text, without a process for each of thousands of examples."""
    pattern, added = SEDS[script]
    for _round in range(times):
        lines = []
        for line in text.splitlines(True):
            lines += [new + b"\n" for new in added] if pattern in line else []
            lines.append(line)
        text = b"".join(lines)
    return text


@pytest.mark.parametrize("script", [SED_RUN, SED_RENDEZVOUS], ids=["run.py", "rendezvous.py"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_stand_in_for_sed_does_as_sed_does(script: str, times: int) -> None:
    for text in sources("run.py" if script == SED_RUN else "rendezvous.py"):
        real = text
        for _round in range(times):
            real = subprocess.run(["sed", script], input=real, capture_output=True, check=True).stdout
        assert by_sed(script, text, times) == real


def _place(draw: t.Any, lines: list[bytes], insert: bytes, around: bytes) -> int:
    """Where a line goes: mostly near the place of the patch, and where one of its indentation may stand."""
    if draw(st.integers(0, 9)) == 0:
        return int(draw(st.integers(0, len(lines) - 1)))
    inside = insert.startswith((b"    ", b"\n", b"#"))
    pattern = around if inside else rb"^(def|import|from) "
    near = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    place = draw(st.sampled_from(near or [0])) + draw(st.integers(-2, 1) if inside else st.just(0))
    return int(min(max(place, 0), len(lines) - 1))


@st.composite
def variants(draw: t.Any, name: str, inserts: t.Sequence[str], around: bytes, script: str) -> bytes:
    """A real file with lines put in, taken out and moved, and with other white space and quotes."""
    lines = sources(name)[draw(st.integers(0, len(VERSIONS) - 1))].splitlines(True)
    for _round in range(draw(st.integers(0, 4))):
        insert = draw(st.sampled_from(inserts)).encode()
        place = _place(draw, lines, insert, around)
        action = draw(st.sampled_from(["put in", "put in", "put in", "put in", "take out", "move"]))
        if action == "put in":
            lines.insert(place, insert)
        elif action == "take out":
            del lines[place]
        else:
            line = lines.pop(place)
            lines.insert(min(max(place + draw(st.integers(-3, 3)), 0), len(lines)), line)
    text = b"".join(lines)
    dress = draw(st.sampled_from([_same, _same, _tabs, _two_blanks, _other_quotes, _no_end]))
    text = dress(text)
    # The vendor's commands put in what is indented by four, which breaks a file that is indented otherwise.
    if dress not in (_tabs, _two_blanks) and draw(st.booleans()):
        text = by_sed(script, text, draw(st.integers(1, 2)))
    ends = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]))
    return text.replace(b"\n", ends)


def _same(text: bytes) -> bytes:
    return text


def _tabs(text: bytes) -> bytes:
    return re.sub(rb"(?m)^( {4})+", lambda match: b"\t" * (len(match.group(0)) // 4), text)


def _two_blanks(text: bytes) -> bytes:
    return re.sub(rb"(?m)^( {4})+", lambda match: b"  " * (len(match.group(0)) // 4), text)


def _other_quotes(text: bytes) -> bytes:
    return (
        text.replace(b'"TORCH', b"'TORCH")
        .replace(b'COUNT"', b"COUNT'")
        .replace(b'f"/worker', b"F'/worker")
        .replace(b't}"', b"t}'")
    )


def _no_end(text: bytes) -> bytes:
    return text.rstrip(b"\n")


def planned(plan: t.Callable[[], patcher.Change]) -> patcher.Change | None:
    """The change, or nothing where it is refused with something to read."""
    try:
        return plan()
    except patcher.Refusal as exc:
        assert all(reason[part] for reason in exc.findings for part in ("code", "what", "why", "remedy", "where"))
        return None


@RUNS
@given(data=st.data())
def test_variants_of_run_py(data: st.DataObject) -> None:
    text = data.draw(variants("run.py", RUN_INSERTS, rb"import os|^import torch", SED_RUN))
    change = planned(lambda: patcher.plan_run("/run.py", text, RECOVERY_MODULE, True, TORCH))
    if change is None:
        return
    body = ast.parse(change.new).body
    first_torch = next(n.lineno for n in body if patcher._imports_torch(n))
    ours = [n for n in body if isinstance(n, ast.Import) and any(a.name == RECOVERY_MODULE for a in n.names)]
    assert len(ours) == 1
    assert ours[0].lineno < first_torch
    again = planned(lambda: patcher.plan_run("/run.py", change.new, RECOVERY_MODULE, True, TORCH))
    assert again is not None
    assert again.new == change.new
    undone = planned(lambda: patcher.plan_run("/run.py", change.new, RECOVERY_MODULE, False, TORCH))
    assert undone is not None
    assert undone.new == change.found.base
    if change.found.state == "unpatched":
        assert undone.new == text


@RUNS
@given(data=st.data())
def test_variants_of_rendezvous_py(data: st.DataObject) -> None:
    around = rb"^    (if _torchelastic_use|if _agent_store_serves|# check if port)"
    text = data.draw(variants("rendezvous.py", RENDEZVOUS_INSERTS, around, SED_RENDEZVOUS))
    change = planned(lambda: patcher.plan_rendezvous("/rendezvous.py", text, True, TORCH))
    if change is None:
        return
    found = ast.parse(change.new).body
    functions = [n for n in found if isinstance(n, ast.FunctionDef) and n.name == "_create_c10d_store"]
    assert len(functions) == 1
    branches = [n for n in functions[0].body if isinstance(n, ast.If) and "agent_store" in ast.unparse(n.test)]
    prefixed = [n for n in branches if any("/worker/attempt_" in ast.unparse(one) for one in n.body)]
    assert len(prefixed) >= 1
    if change.after.state == "patched":
        assert branches.index(prefixed[0]) == 0
        assert len(prefixed) == 1
    again = planned(lambda: patcher.plan_rendezvous("/rendezvous.py", change.new, True, TORCH))
    assert again is not None
    assert again.new == change.new
    undone = planned(lambda: patcher.plan_rendezvous("/rendezvous.py", change.new, False, TORCH))
    assert undone is not None
    assert undone.new == change.found.base
    if change.found.count == 0:
        assert undone.new == text


@RUNS
@given(data=st.binary(max_size=300))
@pytest.mark.parametrize("name", ["run.py", "rendezvous.py"])
def test_what_is_no_python_is_refused_or_left_alone(name: str, data: bytes) -> None:
    plans: list[t.Callable[[], patcher.Change]] = [
        lambda: patcher.plan_run("/x", data, RECOVERY_MODULE, True, TORCH),
        lambda: patcher.plan_rendezvous("/x", data, True, TORCH),
    ]
    assert planned(plans[name == "rendezvous.py"]) is None
