# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Terms of Ansible's own documentation, which this site does not hold: they stay plain words instead of links."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from docutils import nodes  # type: ignore[import-untyped]
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx

_OF_ANSIBLE = re.compile(
    r"(common_return_values|action_plugins|list_of_collections|ansible_configuration_settings"
    r"|check_mode_\w+|ansible_collections\.(ansible|kubernetes|community)\..*)\Z"
)


def leave_plain(_app: Sphinx, _env: t.Any, node: pending_xref, content: nodes.TextElement) -> nodes.TextElement | None:
    return content if _OF_ANSIBLE.match(str(node.get("reftarget", ""))) else None


def setup(app: Sphinx) -> dict[str, t.Any]:
    app.connect("missing-reference", leave_plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
