# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The strategies of a request: checked letter by letter, because clusterd drops what it does not know in silence."""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, nearest, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import Release, is_before
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import (
    STRATEGIES,
    STRATEGY_NAMES,
    strategy_named,
)

WHERE = "strategies"
_DROPPED = "clusterd drops what it does not know without a log line, and the job does not recover at the fault"


def _split(value: object) -> tuple[list[str], list[Finding]]:
    """The words of the list or comma string, untouched, and what is wrong with the value as a whole."""
    if isinstance(value, str):
        if not value.strip():
            return [], [_empty()]
        return value.split(","), []
    if isinstance(value, (list, tuple)):
        if not value:
            return [], [_empty()]
        wrong = [
            Finding(
                "strategy-type",
                "%r is no text" % (item,),
                "The annotation recover-strategy takes words only",
                "Write the strategies as words in quotes. Legal values: %s" % ", ".join(STRATEGY_NAMES),
                WHERE,
            )
            for item in value
            if not isinstance(item, str)
        ]
        return [item for item in value if isinstance(item, str)], wrong
    if value is None:
        return [], [_empty()]
    return [], [
        Finding(
            "strategies-type",
            "%r is neither a list nor a text" % (value,),
            "The plan starts from the strategies",
            "Give a list such as [retry, dump] or a text such as retry,dump",
            WHERE,
        )
    ]


def _empty() -> Finding:
    return Finding(
        "strategies-empty",
        "No recovery strategy is given",
        "Without the annotation recover-strategy the operator switches nothing on and clusterd refuses the agents",
        "Name at least one. `retry` is process-level online recovery. Legal values: %s" % ", ".join(STRATEGY_NAMES),
        WHERE,
    )


def _word_finding(word: str) -> Finding | None:
    """What is wrong with one word, or None where it is legal."""
    if strategy_named(word) is not None:
        return None
    if not word.strip():
        return Finding(
            "strategy-blank",
            "An empty word stands between the commas (%r)" % word,
            _DROPPED,
            "Take out the surplus comma",
            WHERE,
        )
    bare = word.strip()
    if bare != word and strategy_named(bare) is not None:
        return Finding(
            "strategy-blank",
            "%r has a blank around it" % word,
            "clusterd's fault handling and its recovery controller read blanks differently, so it would half work",
            "Write `%s`, without blanks beside the commas" % bare,
            WHERE,
        )
    return Finding(
        "strategy-unknown", "%r is no recovery strategy" % word, _DROPPED, suggestion(word, STRATEGY_NAMES), WHERE
    )


def _duplicates(words: list[str]) -> list[Finding]:
    """Words that stand more than once, also where they differ only in blanks or case."""
    seen: set[str] = set()
    told: set[str] = set()
    findings = []
    for word in words:
        name = nearest(word, STRATEGY_NAMES) if strategy_named(word) is None else word
        exact = word.strip().lower()
        if name is None or exact != name:
            continue
        if name in seen and name not in told:
            told.add(name)
            findings.append(
                Finding(
                    "strategy-duplicate",
                    "`%s` stands more than once" % name,
                    "A repeated word is mostly a mistyped other one",
                    "Name each strategy once",
                    WHERE,
                )
            )
        seen.add(name)
    return findings


def _release_findings(words: list[str], release: Release) -> list[Finding]:
    findings = []
    for word in words:
        row = strategy_named(word)
        if row is not None and is_before(release.name, row.since):
            findings.append(
                Finding(
                    "strategy-newer",
                    "`%s` does not exist in MindCluster %s" % (word, release.name),
                    "It came with %s; an older clusterd drops the word in silence" % row.since,
                    "Upgrade MindCluster to %s and set the release, or take `%s` out" % (row.since, word),
                    WHERE,
                )
            )
    return findings


def _framework_findings(words: list[str], framework: str) -> list[Finding]:
    findings = []
    for word in words:
        row = strategy_named(word)
        if row is not None and framework not in row.frameworks:
            findings.append(
                Finding(
                    "strategy-framework",
                    "`%s` does not work with %s" % (word, framework),
                    "The operator only warns and injects nothing for it, so the job would not recover",
                    "Take `%s` out, or train with %s" % (word, " or ".join(row.frameworks)),
                    WHERE,
                )
            )
    return findings


def check_strategies(
    value: object, release: Release | None, framework: str | None
) -> tuple[tuple[str, ...], list[Finding]]:
    """The strategies in clusterd's order of preference, and everything that is wrong with them.

    :param value: list of words or comma string, as the user gave it. Nothing is trimmed in silence.
    :param release: row of the MindCluster release, or None where that is itself wrong.
    :param framework: C(pytorch) or C(mindspore), or None where that is itself wrong.
    """
    words, findings = _split(value)
    findings += [finding for finding in map(_word_finding, words) if finding is not None]
    findings += _duplicates(words)
    if release is not None:
        findings += _release_findings(words, release)
    if framework is not None:
        findings += _framework_findings(words, framework)
    named = set(words)
    return tuple(row.name for row in STRATEGIES if row.name in named), findings
