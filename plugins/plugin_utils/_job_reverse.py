# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The rendered job, read again as a stranger's would be: what still keeps it from recovering.

The adaptation puts in what the plan owns. Much that breaks recovery is the user's own (a queue that is not named, a
ConfigMap with hotReset, replica types on different products) and stays as it is, so it has to be found and told.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job

# The user's node selector and number of NPUs stay as they are, and the adaptation has warned of them with their line.
TOLD = frozenset(("job-node-selector-missing", "job-node-selector-product", "job-npus-more-than-node"))


def deviations(
    documents: t.Sequence[t.Any], plan: t.Mapping[str, t.Any], name: str, overridden: t.Collection[str], where: str
) -> list[Finding]:
    """What keeps the job from starting or recovering as asked.

    :param documents: the manifest as data.
    :param name: name of the AscendJob in it that is meant; other jobs of the file are other jobs' matter.
    :param overridden: labels, annotations and variables that the user sets on purpose, against the plan.
    :param where: what the manifest is, for messages.
    """
    return [
        Finding(
            "job-%s" % found["code"],
            "%s is %s, wanted is %s" % (found["path"], found["found"], found["wanted"]),
            found["why"],
            "Correct it in your manifest",
            where,
        )
        for found in check_job(documents, plan)
        if found["level"] == "error" and found["job"] in ("", name) and not _set_on_purpose(found["path"], overridden)
    ]


def _set_on_purpose(path: str, overridden: t.Collection[str]) -> bool:
    return any(path.endswith(".%s" % name) or "[%s]" % name in path for name in overridden)
