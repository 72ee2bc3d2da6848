# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What is said about start scripts."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding

if t.TYPE_CHECKING:
    from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_env import Undecidable

_LAUNCHERS = {
    "pytorch": "`torchrun`, `python -m torch.distributed.run` or `python -m torch.distributed.launch`",
    "mindspore": "`msrun`, or a call of `msrun_launcher.sh`",
}

_WITHOUT = "While %s is set, to whatever value, torch_npu cannot tell where a memory fault lies, and nothing is retried"
_DONE = "It is done; set start_script_strict to refuse such a script instead"


def option_unknown(name: str, value: object, remedy: str) -> Finding:
    return Finding(
        "option-unknown",
        "%s `%s` is unknown" % (name, value),
        "It would be ignored in silence",
        remedy,
        "start_script_" + name,
    )


def number_wrong(name: str, value: object, legal: str) -> Finding:
    return Finding(
        "option-number",
        "%s `%s` is not %s" % (name, value, legal),
        "The launcher refuses it, and no training starts",
        "Give %s, or leave it out to use the plan's value" % legal,
        "start_script_" + name,
    )


def plan_missing() -> Finding:
    return Finding(
        "plan-missing",
        "There is no plan with a `script` part",
        "The plan says which options and exports the launcher has to get",
        "Give the `plan` that the module or the role recovery_plan returns",
    )


def kind_of_other_framework(framework: str) -> Finding:
    return Finding(
        "kind-framework",
        "kind `msrun_launcher` does not go with framework `%s`" % framework,
        "msrun starts MindSpore training; its exports mean nothing to PyTorch",
        "Set the plan's framework to `mindspore`, or the kind to `train_start`",
        "start_script_kind",
    )


def empty(where: str) -> Finding:
    return Finding(
        "script-empty", "The script is empty", "There is no launch in it", "Name the script that starts training", where
    )


def too_large(where: str, size: int, largest: int) -> Finding:
    return Finding(
        "script-too-large",
        "It has %d bytes, more than the %d that a start script may have" % (size, largest),
        "A file of this size is an installer or a log, or carries data",
        "Name the script that starts training",
        where,
    )


def too_complex(where: str, count: str) -> Finding:
    return Finding(
        "script-too-complex",
        "It has %s" % count,
        "A start script has a few at most; this one was made by a program, or is no start script",
        "Name the script that starts training, or adapt what generates it",
        where,
    )


def option_unclear(where: str, flag: str, wanted: str) -> Finding:
    return Finding(
        "option-unclear",
        "%s stands inside an expansion, or in a variable whose words do not arrive one by one" % flag,
        "Which value the launcher gets is known only when the script runs; it has to be %s" % wanted,
        "Write %s as an option of its own, in a plain string used as $NAME or an array used as ${NAME[@]}" % flag,
        where,
    )


def crlf_refused(where: str, line: int) -> Finding:
    return Finding(
        "crlf",
        "It has Windows line endings (CRLF), first in line %d" % line,
        "bash takes the carriage return for a part of the line and fails",
        "Convert it, or set start_script_crlf to `convert`",
        where,
    )


def crlf_converted(where: str, line: int) -> Finding:
    return Finding(
        "crlf-converted",
        "It had Windows line endings (CRLF), first in line %d, and has Unix line endings now" % line,
        "bash takes the carriage return for a part of the line and fails",
        "It is done; set start_script_crlf to `keep` or `refuse` to have it otherwise",
        where,
    )


def endings_not_known(where: str) -> Finding:
    return Finding(
        "endings-not-known",
        "It had Windows and Unix line endings in many places, and has Unix ones alone now",
        "Only where nearly all lines ended alike does the block record it",
        "Take the file from your backup or from git where the bytes matter",
        where,
    )


def crlf_kept(where: str, line: int) -> Finding:
    return Finding(
        "crlf-kept",
        "It has Windows line endings (CRLF), first in line %d, and keeps them" % line,
        "bash takes the carriage return for a part of the line and fails",
        "Convert it before it runs, or set start_script_crlf to `convert`",
        where,
    )


def byte_order_mark(where: str) -> Finding:
    return Finding(
        "byte-order-mark",
        "It begins with a byte order mark",
        "The kernel does not see `#!` behind it, and bash takes it for a part of the first word",
        "Save the script as UTF-8 without byte order mark",
        where,
    )


def result_broken(where: str, complaint: str) -> Finding:
    return Finding(
        "result-broken",
        "The adapted script would not parse (%s)" % complaint,
        "The collection has misunderstood the script; it is left as it was",
        "Report this with the script, and adapt the script by hand meanwhile",
        where,
    )


def not_understood(where: str) -> Finding:
    return Finding(
        "shell-not-understood",
        "bash accepts this passage, but the collection's own reading of it is not certain",
        "The launch or an owned variable is in it, and would be edited on a guess",
        "Write the passage in simpler words, or move it away from the launch",
        where,
    )


def no_launch(where: str, framework: str, other: str, mentions: list[int]) -> Finding:
    what = "No command in it starts %s training" % ("MindSpore" if framework == "mindspore" else "PyTorch")
    if other:
        what += "; %s starts another framework's" % other
    elif mentions:
        what += "; line %s names a launcher only in a comment, a string, a heredoc or a function that nothing calls" % (
            ", ".join(str(line) for line in mentions)
        )
    return Finding(
        "launch-missing",
        what,
        "Options and exports can only be put where a launcher gets them",
        "Name the script with %s in it, or correct the plan's framework" % _LAUNCHERS.get(framework, "the launch"),
        where,
    )


def launch_hidden(where: str) -> Finding:
    return Finding(
        "launch-hidden",
        "A launch is put together as text and run by `eval` or another shell",
        "What it gets cannot be told, so this launch was not adapted",
        "Launch directly, or put the options into that text by hand",
        where,
    )


def vendor_sed(where: str, shown: str) -> Finding:
    return Finding(
        "vendor-sed",
        "`%s` patches torch at each start" % shown,
        "The image has the patch already; each start adds it once more, past the proof of the image",
        "Remove the line, or set start_script_remove_vendor_sed",
        where,
    )


def vendor_sed_removed(where: str, shown: str) -> Finding:
    return Finding(
        "vendor-sed-removed",
        "`%s` is a comment now" % shown,
        "The image has the patch already; each start added it once more",
        "It is done; state `absent` brings the line back",
        where,
    )


def vendor_sed_not_alone(where: str, shown: str) -> Finding:
    return Finding(
        "vendor-sed-joined",
        "`%s` shares its line or its statement with other commands" % shown,
        "Taking it out would change them too",
        "Take it out by hand, or unset start_script_remove_vendor_sed",
        where,
    )


def differs(where: str, name: str, old: str, new: str, strict: bool) -> Finding:
    what = "%s is %s, the plan asks for %s" % (name, old or "empty", new)
    return Finding(
        "value-differs" if strict else "value-corrected",
        what if strict else what + "; corrected",
        "With another value the recovery that the plan describes does not happen",
        "Correct the line, or unset start_script_strict to have it corrected" if strict else _DONE,
        where,
    )


def undecidable(where: str, doubt: Undecidable, wanted: str) -> Finding:
    return Finding(
        "value-undecidable",
        "`%s` gives %s a value of its own, and %s" % (doubt.shown[:80], doubt.name, doubt.reason),
        "The launcher has to get %s=%s, and would get it in some runs only" % (doubt.name, wanted),
        "Remove the line, or set the value to the plan's",
        where,
    )


def not_to_be_set(where: str, name: str) -> Finding:
    return Finding(
        "value-not-to-be-set",
        "%s is set here, and the launcher must not get it at all" % name,
        _WITHOUT % name,
        "Remove the line",
        where,
    )


def taken_away(where: str, name: str) -> Finding:
    return Finding(
        "value-taken-away",
        "%s is set here; the block takes it away before the launch" % name,
        _WITHOUT % name,
        "It is done; remove the line, or set start_script_strict to refuse such a script",
        where,
    )


def no_place(where: str) -> Finding:
    return Finding(
        "block-no-place",
        "There is no line before the launch where exports could stand",
        "They have to be set before every launch and on a line of their own",
        "Put the launch on a line of its own",
        where,
    )


def taskd_own_manager(where: str) -> Finding:
    return Finding(
        "taskd-own-manager",
        "The script starts a manager of its own here, so none is started for TaskD",
        "Two managers of one job would take each other's port",
        "Leave it if it is TaskD's; otherwise rename it, or start TaskD's manager in it too",
        where,
    )


def taskd_preload_lost(where: str) -> Finding:
    return Finding(
        "taskd-preload-lost",
        "LD_PRELOAD gets a new value here, behind the line that puts TaskD's library into it",
        "Without libtaskd.so the launcher cannot talk to TaskD's manager, and nothing is recovered",
        "Keep what is there, as in LD_PRELOAD=…:$LD_PRELOAD, or set it further up",
        where,
    )


def path_relative(path: str) -> Finding:
    return Finding(
        "path-relative",
        "`%s` is no absolute path" % path,
        "What it is relative to differs from host to host",
        "Name the script by its absolute path on the host where the task runs",
        "start_script_paths",
    )


def path_missing(path: str) -> Finding:
    return Finding(
        "path-missing",
        "There is no such file",
        "A script that is not there cannot be adapted, and the job would start another one",
        "Correct start_script_paths, or put the script there first; the path is looked up on the host of the task",
        path,
    )


def path_no_file(path: str) -> Finding:
    return Finding(
        "path-no-file",
        "It is no regular file",
        "Only a file can be adapted",
        "Name the script itself, not its folder",
        path,
    )


def path_unreadable(path: str) -> Finding:
    return Finding(
        "path-unreadable",
        "It may not be read",
        "Nothing can be said about its contents",
        "Run the task as a user who may read it, for example with become",
        path,
    )


def folder_read_only(path: str) -> Finding:
    return Finding(
        "folder-read-only",
        "Nothing may be written into its folder",
        "A new version is written beside the script and renamed over it, so that no job ever starts half a script",
        "Run the task as a user who may write there, or mount the folder read-write",
        path,
    )


def path_failed(path: str, complaint: str) -> Finding:
    return Finding(
        "path-failed",
        "It could not be looked at: %s" % (complaint or "no reason was given"),
        "Nothing can be said about its contents",
        "See to it that the host can be reached and the file can be read",
        path,
    )


def not_written(path: str, complaint: str, done: list[str]) -> Finding:
    return Finding(
        "script-not-written",
        "It could not be written: %s" % (complaint or "no reason was given"),
        "Written before it: %s" % (", ".join(done) or "nothing"),
        "Remove the cause and run again; scripts that are done already stay as they are",
        path,
    )
