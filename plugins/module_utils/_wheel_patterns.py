# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""File names of the vendor's wheels, as glob patterns.

Sources: the vendor's build scripts and installation guide. setuptools writes C(7.2rc1) where the guide prints
C(7.2.RC1), so both are right. mindio_ttp is built for one Python and renamed to py3, and its number does not follow
MindCluster's; Elastic Agent (mindx_elastic) is closed source, its number is not known for each release.
"""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import Release

_TAGS = {"taskd": "py3-none", "mindio_ttp": "py3-none", "mindx_elastic": "py3*-none"}


def wheel_patterns(release: Release, names: list[str], arch: str | None) -> dict[str, list[str]]:
    """Patterns for each wheel of an image.

    :param arch: C(aarch64), C(x86_64), or None for both.
    """
    patterns = {}
    for name in names:
        versions = release.wheel_versions if name == "taskd" else ("*",)
        patterns[name] = ["%s-%s-%s-linux_%s.whl" % (name, version, _TAGS[name], arch or "*") for version in versions]
    return patterns
