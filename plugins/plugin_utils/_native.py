# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Plain Python values in place of Ansible's own subclasses of them."""

from __future__ import annotations

import typing as t


def native(value: t.Any) -> t.Any:
    """A copy of a value from a template in which text is C(str) and numbers are C(int) and C(float).

    ansible-core 2.19 and newer hands tagged subclasses to filters, which serializers and exact type checks do not know.
    """
    if isinstance(value, t.Mapping):
        return {native(name): native(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [native(item) for item in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return value
