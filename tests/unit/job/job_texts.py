# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Job manifests as hypothesis makes them: the same few objects, written in the many ways that YAML allows.

A value is written by a `Writer`, which draws how: block or flow, quotes, comments in Chinese, trailing blanks, where
dashes stand, anchors and aliases, line endings. A shell script is drawn in every scalar style with every chomping and
indentation indicator.
"""

from __future__ import annotations

import json
import re
import typing as t

import yaml
from hypothesis import strategies as st

COMMENTS = ("   # 说明", ' # a: b, "c"', " # 尾 - x", "  ")
LINES = ("# 注释: 整行", "  # - name: x", "", "   ")
LEADERS = {"pytorch": "Master", "mindspore": "Scheduler"}


class Sample(t.NamedTuple):
    """A generated manifest.

    :ivar name: the job that is meant.
    """

    text: str
    framework: str
    name: str


class Script(str):
    """A text that is written in one of the styles for long texts."""


class Anchored(t.NamedTuple):
    """A value with an anchor before it."""

    name: str
    value: t.Any


class Alias(t.NamedTuple):
    """An alias in place of a value; as the value of `<<` a merge."""

    name: str


class Writer:
    """Writes values as lines of YAML, each in a way that is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.shift = draw(st.sampled_from([0, 2]))
        self.noisy = draw(st.booleans())

    def maybe(self, often: int = 3) -> bool:
        """True once in so many times."""
        return self.draw(st.integers(0, often)) == 0

    def comment(self) -> str:
        return self.draw(st.sampled_from(COMMENTS)) if self.noisy and self.maybe() else ""

    def between(self) -> list[str]:
        """A comment or an empty line between two entries, at any column."""
        return [self.draw(st.sampled_from(LINES))] if self.noisy and self.maybe(5) else []

    def mapping(self, value: dict[str, t.Any], indent: int) -> list[str]:
        lines: list[str] = []
        for key, item in value.items():
            lines += self.between() if lines else []
            lines += self.entry(key, item, indent)
        return lines

    def entry(self, key: str, item: t.Any, indent: int) -> list[str]:
        head, anchor = " " * indent + key + ":", ""
        if isinstance(item, Anchored):
            anchor, item = " &" + item.name, item.value
        if isinstance(item, Alias):
            return [head + " *" + item.name + self.comment()]
        if isinstance(item, Script):
            return self.script(head + anchor, item, indent)
        if not isinstance(item, (dict, list)) or not item or (not anchor and flowable(item) and self.maybe()):
            return [head + anchor + " " + self.flow(item) + self.comment()]
        below = self.mapping(item, indent + 2) if isinstance(item, dict) else self.items(item, indent + self.shift)
        return [head + anchor + self.comment(), *below]

    def items(self, value: list[t.Any], indent: int) -> list[str]:
        lines: list[str] = []
        for item in value:
            lines += self.between() if lines else []
            if isinstance(item, Script):
                lines += self.script(" " * indent + "-", item, indent)
            elif isinstance(item, dict) and not (flowable(item) and self.maybe()):
                inner = self.mapping(item, indent + 2)
                lines += [" " * indent + "- " + inner[0].lstrip(" "), *inner[1:]]
            else:
                lines.append(" " * indent + "- " + self.flow(item) + self.comment())
        return lines

    def flow(self, value: t.Any) -> str:
        blank = self.draw(st.sampled_from(["", " "]))
        if isinstance(value, dict):
            return "{%s%s%s}" % (blank, ", ".join("%s: %s" % (k, self.flow(v)) for k, v in value.items()), blank)
        if isinstance(value, list):
            return "[%s%s%s]" % (blank, ", ".join(self.flow(item) for item in value), blank)
        return self.scalar(value)

    def scalar(self, value: t.Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        styles = [json.dumps(value, ensure_ascii=False), "'%s'" % value.replace("'", "''")]
        plain = re.fullmatch(r"[\w./-][\w./:-]*", value) is not None and not value.endswith(":")
        if plain and yaml.safe_load(value) == value and value != "-":
            styles.append(value)
        return self.draw(st.sampled_from(styles))

    # --- scripts -------------------------------------------------------------------------------------------------

    def script(self, head: str, script: str, indent: int) -> list[str]:
        """A script behind its key or dash."""
        end = self.draw(st.sampled_from(["", "\n", "\n\n\n"]))
        value = script.rstrip("\n") + end
        styles = ["|", "double"]
        if not any(line.endswith(" ") for line in value.split("\n")):
            styles += [">", "single"]
        style = self.draw(st.sampled_from(styles))
        if style == "double":
            return [head + " " + json.dumps(value, ensure_ascii=False) + self.comment()]
        if style == "single":
            return self.single(head, value.rstrip("\n"), indent)
        return self.block(head, value, indent, style)

    def single(self, head: str, value: str, indent: int) -> list[str]:
        """In single quotes a line break is an empty line, and blanks beside it are lost: with these it goes double."""
        lines = value.split("\n")
        if any(line != line.strip() for line in lines):
            return [head + " " + json.dumps(value, ensure_ascii=False) + self.comment()]
        margin = "\n\n" + " " * (indent + 2)
        return (head + " '%s'" % margin.join(lines).replace("'", "''") + self.comment()).split("\n")

    def block(self, head: str, value: str, indent: int, style: str) -> list[str]:
        ends = len(value) - len(value.rstrip("\n"))
        chomp = {0: "-", 1: "", 3: "+"}[ends]
        lines = value.rstrip("\n").split("\n")
        depth = self.draw(st.sampled_from([2, 4, 7]))
        # A first line with blanks before it needs the indicator; elsewhere it is a matter of taste.
        indicator = str(depth) if lines[0][:1] == " " or self.maybe() else ""
        mark = self.draw(st.sampled_from([indicator + chomp, chomp + indicator]))
        body = folded(lines) if style == ">" else lines
        margin = " " * (indent + depth)
        written = [margin + line if line else "" for line in body] + [""] * (ends - 1 if ends else 0)
        return [head + " " + style + mark + (self.comment() or "")] + written


def folded(lines: list[str]) -> list[str]:
    """Lines as they are written in a folded block: one more line break where two plain lines meet."""
    written: list[str] = []
    previous = ""
    gap = 0
    for number, line in enumerate(lines):
        if number and not line:
            gap += 1
            continue
        if number:
            more = previous.startswith(" ") or line.startswith(" ")
            written += [""] * (gap + (0 if more else 1))
        written.append(line)
        previous, gap = line, 0
    return written


def flowable(value: t.Any) -> bool:
    """Whether a value can be written on one line."""
    if isinstance(value, dict):
        return all(flowable(item) for item in value.values())
    if isinstance(value, list):
        return all(flowable(item) for item in value)
    return not isinstance(value, (Script, Anchored, Alias)) and "\n" not in str(value)


# --- the objects -------------------------------------------------------------------------------------------------


@st.composite
def containers(draw: st.DrawFn, scripts: st.SearchStrategy[str]) -> dict[str, t.Any]:
    """The container C(ascend) without anything of recovery in it."""
    script = Script(draw(scripts))
    words = draw(st.sampled_from([["/bin/bash", "-c"], ["bash", "-exo", "pipefail", "-c"]]))
    command: dict[str, t.Any] = draw(
        st.sampled_from(
            [{"command": words, "args": [script]}, {"command": [*words, script]}, {"args": [*words, script]}]
        )
    )
    parts: dict[str, t.Any] = {
        "image": "registry.example.com/训练:1",
        "imagePullPolicy": "IfNotPresent",
        "env": draw(st.sampled_from([[], [{"name": "变量", "value": "on"}], [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": "1"}
        ]])),
        "ports": draw(st.sampled_from([[], [{"containerPort": 22, "name": "ssh"}]])),
        "resources": {"requests": {"huawei.com/Ascend910": 8}, "limits": {"huawei.com/Ascend910": 8}},
        "volumeMounts": [{"name": "code", "mountPath": "/job/code"}],
    }  # fmt: skip
    if draw(st.booleans()):
        parts["resources"] = {"limits": {"huawei.com/Ascend910": 8}}
    needed = {"image", "resources"}
    kept = {name: value for name, value in parts.items() if name in needed or draw(st.booleans())}
    kept.update(command)
    return {"name": "ascend", **{name: kept[name] for name in draw(st.permutations(list(kept)))}}


@st.composite
def replica_specs(draw: st.DrawFn, framework: str, scripts: st.SearchStrategy[str]) -> dict[str, t.Any]:
    """One replica type or two, the second one with a template of its own, an anchor's, or a merged one."""
    leader = LEADERS[framework]

    def spec(container: t.Any) -> dict[str, t.Any]:
        pod = {"automountServiceAccountToken": False, "containers": [container]}
        if draw(st.booleans()):
            pod["volumes"] = [{"name": "code", "nfs": {"server": "10.0.0.1", "path": "/代码"}}]
        return {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}

    first = spec(draw(containers(scripts)))
    form = draw(st.sampled_from(["one", "own", "alias", "merge", "env", "reversed"]))
    if form == "one":
        return {leader: first}
    if form == "alias":
        first["template"] = Anchored("template", first["template"])
        return {leader: first, "Worker": {"replicas": 3, "template": Alias("template")}}
    if form == "merge":
        return {leader: Anchored("node", first), "Worker": {"<<": Alias("node"), "replicas": 3}}
    second = spec(draw(containers(scripts)))
    if form == "env":
        first["template"]["spec"]["containers"][0]["env"] = Anchored("env", [{"name": "A", "value": "1"}])
        second["template"]["spec"]["containers"][0]["env"] = Alias("env")
        return {leader: first, "Worker": second}
    pair = {leader: first, "Worker": second}
    return pair if form == "own" else dict(reversed(pair.items()))


@st.composite
def jobs(draw: st.DrawFn, framework: str, name: str, scripts: st.SearchStrategy[str]) -> dict[str, t.Any]:
    metadata: dict[str, t.Any] = {"name": name}
    if draw(st.booleans()):
        metadata["namespace"] = "train"
    labels = draw(st.sampled_from([None, {}, {"framework": framework}, {"组": "a", "framework": framework}]))
    if labels is not None:
        metadata["labels"] = labels
    annotations = draw(st.sampled_from([None, {}, {"说明": "随便: 写"}]))
    if annotations is not None:
        metadata["annotations"] = annotations
    spec: dict[str, t.Any] = {"schedulerName": "volcano"} if draw(st.booleans()) else {}
    spec["replicaSpecs"] = draw(replica_specs(framework, scripts))
    return {"apiVersion": "mindxdl.gitee.com/v1", "kind": "AscendJob", "metadata": metadata, "spec": spec}


def config_map(name: str) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "reset-config-" + name, "labels": {"reset": "true"}},
        "data": {"reset.json": Script('{"status":"initializing"}'), "checkCode": ""},
    }


@st.composite
def manifests(draw: st.DrawFn, scripts: st.SearchStrategy[str]) -> Sample:
    """A file: the job, before and behind it other objects and other jobs.

    :param scripts: what is in C(args).
    """
    framework = draw(st.sampled_from(["pytorch", "mindspore"]))
    writer = Writer(draw)
    job = draw(jobs(framework, "job", scripts))
    around = st.sampled_from(["config", "service", "other"])
    objects = [*draw(st.lists(around, max_size=1)), "job", *draw(st.lists(around, max_size=1))]
    made = {"config": config_map("job"), "service": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}}
    documents = []
    for number, kind in enumerate(objects):
        value = job if kind == "job" else made.get(kind) or draw(jobs(framework, "other-%d" % number, scripts))
        if kind == "job" and draw(st.integers(0, 7)) == 0:
            documents.append(json.dumps(plain(value), ensure_ascii=False, indent=2).split("\n"))
        else:
            documents.append(writer.mapping(value, 0))
    lines = draw(st.sampled_from([[], ["# 文件头"], ["---"], ["%YAML 1.1", "---  # 开始"], ["", "--- "]]))
    for number, document in enumerate(documents):
        lines = lines + (draw(st.sampled_from([["---"], ["...", "---"], ["# 尾", "--- # 下一个"]])) if number else [])
        lines = lines + document
    lines = lines + draw(st.sampled_from([[], ["# 结束"], ["..."], ["---"]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    return Sample(draw(st.sampled_from(["", "\ufeff"])) + text, framework, "job")


def plain(value: t.Any, anchors: dict[str, t.Any] | None = None) -> t.Any:
    """A value with its aliases written out."""
    anchors = {} if anchors is None else anchors
    if isinstance(value, Anchored):
        anchors[value.name] = plain(value.value, anchors)
        return anchors[value.name]
    if isinstance(value, Alias):
        return anchors[value.name]
    if isinstance(value, dict):
        found = {key: plain(item, anchors) for key, item in value.items()}
        merged = found.pop("<<", {})
        return {**merged, **found}
    if isinstance(value, list):
        return [plain(item, anchors) for item in value]
    return str(value) if isinstance(value, str) else value
