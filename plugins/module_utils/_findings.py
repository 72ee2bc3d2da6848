# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the collection has to say about a request, a file or a cluster.

A finding is one mistake or one warning. Every rule returns findings instead of raising at the first one, so
that one run shows every mistake.
"""

from __future__ import annotations

import difflib
import typing as t


class Finding:
    """One thing that is wrong or doubtful.

    :param code: short stable name in kebab case, such as C(strategy-unknown); tests and pipelines match on it.
    :param what: what is wrong, with the offending value in it.
    :param why: why it matters to the person who runs the cluster.
    :param remedy: what to do about it.
    :param where: the option, file and line, node or YAML path that it is about; empty where there is none.
    """

    __slots__ = ("code", "what", "where", "why", "remedy")

    def __init__(self, code: str, what: str, why: str, remedy: str, where: str = "") -> None:
        self.code = code
        self.what = what
        self.why = why
        self.remedy = remedy
        self.where = where

    def as_dict(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}

    def line(self) -> str:
        """The finding as one line of text: where, what, why, remedy."""
        prefix = "%s: " % self.where if self.where else ""
        return "%s%s. %s. %s." % tuple(part.rstrip(".") for part in (prefix, self.what, self.why, self.remedy))

    def __repr__(self) -> str:
        return "Finding(%s)" % self.line()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.as_dict().items()))


class Refused(Exception):
    """The request cannot work, and nothing has been touched, unless O(touched) says otherwise.

    :param touched: something was changed before.
    :ivar findings: every reason, never only the first.
    """

    def __init__(self, findings: t.Iterable[Finding] | Finding, touched: bool = False) -> None:
        self.findings: list[Finding] = [findings] if isinstance(findings, Finding) else list(findings)
        super().__init__(summary(self.findings, touched))

    def as_dicts(self) -> list[dict[str, str]]:
        return [finding.as_dict() for finding in self.findings]


def after(refused: Refused, done: t.Sequence[str]) -> Refused:
    """A refusal that also says what has been done before it, in the middle of writing.

    :param done: sentences.
    """
    before = "Before that %s" % ", ".join(done) if done else "Nothing was written"
    return Refused(
        [
            Finding(finding.code, "%s. %s" % (finding.what, before), finding.why, finding.remedy, finding.where)
            for finding in refused.findings
        ],
        bool(done),
    )


def summary(findings: t.Sequence[Finding], touched: bool = False) -> str:
    """All findings as one message: a single line, or a numbered list; what is wrong in many places is told once."""
    told = _told_once(findings)
    if len(told) == 1:
        return told[0].line()
    lines = ["%d. %s" % (number, finding.line()) for number, finding in enumerate(told, 1)]
    heading = "%d mistakes:" if touched else "%d mistakes, nothing was changed:"
    return "\n".join([heading % len(told)] + lines)


def _told_once(findings: t.Iterable[Finding]) -> list[Finding]:
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for finding in findings:
        places.setdefault((finding.code, finding.what, finding.why, finding.remedy), []).append(finding.where)
    return [Finding(same[0], same[1], same[2], same[3], listed(where)) for same, where in places.items()]


def listed(names: t.Sequence[str], most: int = 20) -> str:
    """Names as text; of very many only the first."""
    more = " and %d more" % (len(names) - most) if len(names) > most else ""
    return ", ".join(names[:most]) + more


def nearest(word: str, legal: t.Iterable[str]) -> str | None:
    """The legal value that the user most likely meant, or None where nothing is near."""
    candidates = list(legal)
    folded = {candidate.lower(): candidate for candidate in candidates}
    wanted = word.strip().lower().replace("_", "-")
    if wanted in folded:
        return folded[wanted]
    close = difflib.get_close_matches(wanted, list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def suggestion(word: str, legal: t.Iterable[str]) -> str:
    """The remedy sentence for a value outside a list of legal values."""
    candidates = list(legal)
    match = nearest(word, candidates)
    known = "Legal values: %s" % ", ".join(candidates)
    return "Did you mean `%s`? %s" % (match, known) if match else known
