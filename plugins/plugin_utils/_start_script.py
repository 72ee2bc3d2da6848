# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A user's start script made recoverable, with the smallest possible change, and made the user's own again.

What the plan's C(script) says is put where the launcher really gets it. Each run first takes back what an earlier run
did and then starts from the user's own text, so that a second run gives the same text, and another plan never adds up.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _start_script_messages as say
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Launch, Source, to_bytes
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_flow import Flow
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_launcher import TORCH_KINDS
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_syntax import check_syntax
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_args import (
    Arguments,
    Place,
    Scan,
    same_number,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_block import (
    Found,
    Record,
    comment_out,
    render_block,
    restore_commented,
    split_block,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_endings import Endings, with_endings
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_env import (
    Environment,
    block_anchor,
    env_words,
    wanted_value,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_sed import find_torch_seds
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_taskd import TaskD
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_ttp import ttp_commands

if t.TYPE_CHECKING:
    from tree_sitter import Node

KINDS = ("auto", "train_start", "msrun_launcher")
CRLF = ("convert", "keep", "refuse")
STATES = ("present", "absent")
FLAGS = ("--max_restarts", "--monitor_interval")
# A start script is a few kilobytes; what is larger is something else, or carries a payload.
LARGEST = 1024 * 1024
# People write a few of each. Every launch is compared with every line that may act on it.
MOST_LAUNCHES = 50
MOST_ASSIGNMENTS = 100

Launches = list[tuple[Launch, "Node"]]
Edit = tuple[int, int, bytes]


@dataclasses.dataclass(frozen=True)
class Options:
    """How a script is to be adapted; the role's variables of the same names.

    :ivar max_restarts: instead of the plan's value.
    :ivar monitor_interval: seconds, instead of the plan's value.
    :ivar strict: refuse what would be corrected.
    :ivar crlf: what to do with Windows line endings.
    :ivar remove_vendor_sed: turn a C(sed) on torch inside the script into a comment.
    """

    kind: str = "auto"
    max_restarts: int | None = None
    monitor_interval: float | None = None
    strict: bool = False
    crlf: str = "convert"
    state: str = "present"
    remove_vendor_sed: bool = False


@dataclasses.dataclass(frozen=True)
class ScriptResult:
    """The adapted text, and what the user should know about it.

    :ivar corrections: values of the user's that were changed, each with its line.
    :ivar warnings: what was seen and left.
    """

    text: str
    corrections: list[Finding]
    warnings: list[Finding]


def adapt_script(text: str, plan: t.Mapping[str, t.Any], *, where: str = "script", **options: t.Any) -> ScriptResult:
    """Adapt a start script to a plan, or make it the user's own again.

    :param text: the script; bytes that are no UTF-8 as surrogate escapes, so that they survive.
    :param plan: the plan of C(recovery_plan); its C(framework) and C(script) are read.
    :param where: what the script is called in messages.
    :param options: the fields of L(Options).
    :raises Refused: with every mistake; nothing has been changed then.
    """
    try:
        return _adapt(to_bytes(text), plan, Options(**options), where)
    except Refused as exc:
        raise Refused([_printable(finding) for finding in exc.findings]) from exc


def _adapt(raw: bytes, plan: t.Mapping[str, t.Any], options: Options, where: str) -> ScriptResult:
    _check_options(options, plan)
    endings = Endings(raw)
    warnings = _check_file(raw, options, where, endings)
    check_syntax(_decode(endings.unix), where)
    converts = endings.windows and options.state == "present" and options.crlf == "convert"
    work = _Adaptation(endings.unix, plan, options, where, endings.described() if converts else "")
    result = work.run()
    _check_result(result, where)
    corrections = work.corrections
    if converts:
        corrections = [say.crlf_converted(where, endings.first_line()), *corrections]
    elif options.state == "absent" and work.endings and not endings.windows:
        given_back = with_endings(result, work.endings)
        if given_back is None:
            warnings.append(say.endings_not_known(where))
        result = result if given_back is None else given_back
    else:
        result = endings.restore(result)
    shown = [_printable(finding) for finding in corrections]
    return ScriptResult(_decode(result), shown, [_printable(finding) for finding in warnings + work.warnings])


def _printable(finding: Finding) -> Finding:
    """What is quoted from a script may hold bytes that are no UTF-8; no message can carry those."""
    return Finding(**{name: to_bytes(text).decode("utf-8", "replace") for name, text in finding.as_dict().items()})


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _check_options(options: Options, plan: t.Mapping[str, t.Any]) -> None:
    findings = []
    for name, value, legal in (
        ("kind", options.kind, KINDS),
        ("crlf", options.crlf, CRLF),
        ("state", options.state, STATES),
    ):
        if value not in legal:
            findings.append(say.option_unknown(name, value, suggestion(str(value), legal)))
    restarts = options.max_restarts
    if restarts is not None and (isinstance(restarts, bool) or not isinstance(restarts, int) or restarts < 0):
        findings.append(say.number_wrong("max_restarts", restarts, "a whole number, 0 or more"))
    interval = options.monitor_interval
    if interval is not None and (isinstance(interval, bool) or not isinstance(interval, (int, float)) or interval <= 0):
        findings.append(say.number_wrong("monitor_interval", interval, "a number of seconds above 0"))
    if not isinstance(plan, t.Mapping) or not isinstance(plan.get("script"), t.Mapping):
        findings.append(say.plan_missing())
    elif options.kind == "msrun_launcher" and plan.get("framework") != "mindspore":
        findings.append(say.kind_of_other_framework(str(plan.get("framework"))))
    if findings:
        raise Refused(findings)


def _check_file(raw: bytes, options: Options, where: str, endings: Endings) -> list[Finding]:
    if not raw.strip():
        raise Refused(say.empty(where))
    if len(raw) > LARGEST:
        raise Refused(say.too_large(where, len(raw), LARGEST))
    warnings = []
    if endings.windows and options.state == "present":
        if options.crlf == "refuse":
            raise Refused(say.crlf_refused(where, endings.first_line()))
        if options.crlf == "keep":
            warnings.append(say.crlf_kept(where, endings.first_line()))
    if raw.startswith(b"\xef\xbb\xbf"):
        warnings.append(say.byte_order_mark(where))
    return warnings


def _check_result(raw: bytes, where: str) -> None:
    try:
        check_syntax(_decode(raw), where)
    except Refused as exc:
        raise Refused(say.result_broken(where, exc.findings[0].what)) from exc


def apply_edits(raw: bytes, edits: t.Iterable[Edit]) -> bytes:
    """Make all replacements; of several at one offset the first one comes first."""
    numbered = sorted(enumerate(edits), key=lambda item: (item[1][0], item[0]), reverse=True)
    for _number, (start, end, new) in numbered:
        raw = raw[:start] + new + raw[end:]
    return raw


class _Adaptation:
    """One script on its way; the user's own text is C(own), C(before) is what an earlier run recorded."""

    def __init__(
        self, raw: bytes, plan: t.Mapping[str, t.Any], options: Options, where: str, endings: str = ""
    ) -> None:
        self.options = options
        self.where = where
        self.framework = str(plan.get("framework", "pytorch"))
        script = plan["script"]
        self.exports: dict[str, str] = {name: str(value) for name, value in script.get("exports", {}).items()}
        self.unset: list[str] = list(script.get("unset", []))
        self.ttp_port: str | None = script.get("ttp_port")
        self.taskd_manager: bool = bool(script.get("taskd_manager", False))
        self.wanted = self._wanted_flags(script.get("torchrun_args", {}))
        self.corrections: list[Finding] = []
        self.warnings: list[Finding] = []
        self.refusals: list[Finding] = []
        self.records: list[Record] = []
        self.edits: list[Edit] = []
        self.raw = raw
        self.block: Found = split_block(raw, where)
        self.before = frozenset(self.block.records)
        # What they were at the first conversion; an editor on Windows may have brought some of them back since.
        self.endings = self.block.endings or endings

    def _wanted_flags(self, plan_flags: t.Mapping[str, t.Any]) -> dict[str, str]:
        wanted = {name: str(value) for name, value in plan_flags.items()}
        chosen = (("--max_restarts", self.options.max_restarts), ("--monitor_interval", self.options.monitor_interval))
        for name, value in chosen:
            if value is not None and self.framework == "pytorch":
                wanted[name] = "%g" % value if isinstance(value, float) else str(value)
        return wanted

    def run(self) -> bytes:
        own: bytes = self._take_back()
        if self.options.state == "absent":
            return own
        source = Source(own)
        launches = self._launches(source)
        flow = Flow(source, self.framework)
        self._look_for_seds(source)
        if self.wanted:
            self._place_flags(Arguments(source, flow, launches, self.wanted), source)
        environment = Environment(source, flow, launches, self.exports, self.unset)
        self._correct_exports(environment)
        self._place_block(source, launches, environment)
        if self.refusals:
            raise Refused(self.refusals)
        return apply_edits(own, self.edits)

    def _at(self, line: int) -> str:
        return "%s line %d" % (self.where, self.block.user_line(line))

    # Taking back what an earlier run did

    def _take_back(self) -> bytes:
        raw = restore_commented(self.block.raw)
        if not self.block.records:
            return raw
        source = Source(raw)
        launches = [item for item in source.launches() if item[0].kind in TORCH_KINDS]
        arguments = Arguments(source, Flow(source, self.framework), launches, FLAGS)
        edits = [edit for record in self.block.records if not record.flag for edit in _undo_export(source, record)]
        return apply_edits(raw, edits + self._undo_flags(arguments))

    def _undo_flags(self, arguments: Arguments) -> list[Edit]:
        edits: list[Edit] = []
        for record in self.block.records:
            there = [item for item in arguments.occurrences_of_site(record.site) if item.flag == record.flag]
            if not record.flag or len(there) < record.number:
                continue
            item = there[record.number - 1]
            if record.before is None:
                edits.append((*arguments.removal(item), b""))
            else:
                edits.append((item.value_start, item.value_end, to_bytes(record.before)))
        return edits

    # Launches

    def _launches(self, source: Source) -> Launches:
        self._refuse_misread(source)
        every = source.launches()
        found = [item for item in every if self._is_launch(item[0], every)]
        if not found:
            other = next((self._at(item[0].line) for item in every if item[0].kind != "script"), "")
            raise Refused(say.no_launch(self.where, self.framework, other, self._mentions(source)))
        if len(found) > MOST_LAUNCHES:
            raise Refused(say.too_complex(self.where, "%d launches" % len(found)))
        sets = sum(1 for item in source.assignments() if item.name in self.exports)
        if sets > MOST_ASSIGNMENTS:
            raise Refused(say.too_complex(self.where, "%d lines that set an owned variable" % sets))
        for line in self._hidden(source):
            self.warnings.append(say.launch_hidden(self._at(line)))
        return found

    def _is_launch(self, launch: Launch, every: Launches) -> bool:
        if self.framework == "pytorch":
            return launch.kind in TORCH_KINDS
        if launch.kind == "msrun":
            return True
        calls_launcher = launch.kind == "script" and any("msrun_launcher" in word for word in launch.words)
        return calls_launcher and self.options.kind != "msrun_launcher"

    def _refuse_misread(self, source: Source) -> None:
        """bash has accepted the text; where the syntax tree has not, nothing near what matters may be edited."""
        names = [*self.exports, *self.wanted, "torchrun", "torch.distributed", "msrun"]
        for node in source.errors():
            text = _decode(source.slice(node))
            if any(name in text for name in names):
                self.refusals.append(say.not_understood(self._at(source.line(node.start_byte))))
        if self.refusals:
            raise Refused(self.refusals)

    def _mentions(self, source: Source) -> list[int]:
        pattern = (
            rb"\bmsrun\b" if self.framework == "mindspore" else rb"\btorchrun\b|torch\.distributed\.(?:run|launch)\b"
        )
        lines = {source.line(match.start()) for match in re.finditer(pattern, source.raw)}
        return [self.block.user_line(line) for line in sorted(lines)]

    def _hidden(self, source: Source) -> list[int]:
        """Lines where a launch is put together as text and run: it cannot be edited."""
        found = []
        for command in source.nodes("command"):
            name = source.command_name(command)
            text = source.slice(command)
            quoted = re.search(rb"""["'][^"']*\b(torchrun|msrun|torch\.distributed\.(run|launch))\b""", text)
            if quoted and (name == b"eval" or (name in (b"bash", b"sh", b"ssh") and b" -c" in text)):
                found.append(source.line(command.start_byte))
        return found

    def _look_for_seds(self, source: Source) -> None:
        for sed in find_torch_seds(source):
            where = self._at(sed.line)
            if not self.options.remove_vendor_sed:
                self.warnings.append(say.vendor_sed(where, sed.shown))
            elif not sed.removable:
                self.refusals.append(say.vendor_sed_not_alone(where, sed.shown))
            else:
                start, end = sed.node.start_byte, sed.node.end_byte
                comment = comment_out(source.raw, start, end)
                self.edits.append((start, end, comment))
                if comment not in self.block.raw:
                    self.corrections.append(say.vendor_sed_removed(where, sed.shown))

    # Options of the launcher

    def _place_flags(self, arguments: Arguments, source: Source) -> None:
        scans = [arguments.scan_launch(index) for index in range(len(arguments.launches))]
        for flag, offset in dict.fromkeys(item for scan in scans for item in scan.unclear):
            self.refusals.append(say.option_unclear(self._at(source.line(offset)), flag, self.wanted[flag]))
        self._correct_flags(arguments, scans, source)
        insertions: dict[tuple[str, int], tuple[Place, list[str]]] = {}
        for index, scan in enumerate(scans):
            missing = [flag for flag in self.wanted if not arguments.launch_has(index, flag, scan)]
            for place in arguments.places(index, scan) if missing else []:
                there = {item.flag for item in scan.occurrences if item.site == place.site}
                flags = insertions.setdefault((place.site, place.offset), (place, []))[1]
                flags.extend(flag for flag in missing if flag not in there and flag not in flags)
        for place, flags in insertions.values():
            words = ["%s %s" % (flag, self.wanted[flag]) for flag in flags]
            text = place.joint.join(to_bytes(word) for word in words)
            if flags:
                self.edits.append((place.offset, place.offset, (place.joint if place.glue_first else b"") + text))
            self.records.extend(Record(place.site, flag) for flag in flags)

    def _correct_flags(self, arguments: Arguments, scans: list[Scan], source: Source) -> None:
        occurrences = {item.value_start: item for scan in scans for item in scan.occurrences}
        for _start, item in sorted(occurrences.items()):
            if same_number(item.value, self.wanted[item.flag]):
                continue
            raw = _decode(source.raw[item.value_start : item.value_end])
            self.edits.append((item.value_start, item.value_end, to_bytes(self.wanted[item.flag])))
            record = Record(item.site, item.flag, raw, arguments.number_of(item))
            self._changed(record, source.line(item.start), item.flag, raw, self.wanted[item.flag])

    def _changed(self, record: Record, line: int, name: str, old: str, new: str) -> None:
        self.records.append(record)
        if record in self.before:
            return
        told = self.refusals if self.options.strict else self.corrections
        told.append(say.differs(self._at(line), name, old, new, self.options.strict))

    # Exports

    def _correct_exports(self, environment: Environment) -> None:
        for doubt in environment.undecidable:
            self.refusals.append(say.undecidable(self._at(doubt.line), doubt, self.exports[doubt.name]))
        for wrong in environment.wrong:
            new = wanted_value(wrong.name, self.exports[wrong.name])
            self.edits.append((wrong.start, wrong.end, new))
            self._changed(Record(wrong.site, "", wrong.before), wrong.line, wrong.name, wrong.before, _decode(new))

    def _place_block(self, source: Source, launches: Launches, environment: Environment) -> None:
        taskd = TaskD(source, environment, self.framework, self.taskd_manager)
        if taskd.own_manager():
            self.warnings.append(say.taskd_own_manager(self._at(taskd.own_manager())))
        # The manager inherits what stands before it.
        commands = environment.commands() + ttp_commands(environment, self.ttp_port) + taskd.commands()
        if not commands and not self.records and not self.endings:
            return
        anchor = block_anchor(source, launches)
        if anchor is None and not commands and not self.records:
            return
        if anchor is None:
            self.refusals.append(say.no_place(self._at(launches[0][0].line)))
            return
        start = source.line_start(anchor.start_byte)
        for doubt in environment.late_unsets(anchor):
            self.refusals.append(say.undecidable(self._at(doubt.line), doubt, self.exports[doubt.name]))
        self._tell_unset(environment, anchor)
        self.refusals.extend(say.taskd_preload_lost(self._at(line)) for line in taskd.lost_preloads(anchor))
        # First in the list: of several edits at this offset the block has to come before the others.
        self.edits.insert(
            0, (start, start, render_block(source.indent(anchor.start_byte), self.records, commands, self.endings))
        )

    def _tell_unset(self, environment: Environment, anchor: Node) -> None:
        """A value that the block takes away is told; one that comes behind the block cannot be taken away."""
        for name, line, late in environment.given_though_unset(anchor):
            if late or self.options.strict:
                self.refusals.append(say.not_to_be_set(self._at(line), name))
            else:
                self.warnings.append(say.taken_away(self._at(line), name))


def _undo_export(source: Source, record: Record) -> list[Edit]:
    name, _hash, number = record.site.rpartition("#")
    before = to_bytes(record.before or "")
    if name.startswith("env:"):
        spans = [(word.start, word.end) for word in env_words(source) if word.name == name[4:]]
    else:
        spans = [(item.value_start, item.value_end) for item in source.assignments() if item.name == name]
    index = int(number) - 1
    return [(*spans[index], before)] if index < len(spans) else []
