# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Extra volumes and pull secrets, which are named in variables, in a user's own job."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

#: Keys of an extra volume that belong to its mount; the one other key is its source.
MOUNT_KEYS = ("name", "mountPath", "readOnly", "subPath", "mountPropagation")


def mount_of(volume: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key: volume[key] for key in MOUNT_KEYS if key in volume}


def source_of(volume: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"name": volume["name"], **{key: value for key, value in volume.items() if key not in MOUNT_KEYS}}


def add_volumes(draft: Draft, container: Path, volumes: t.Sequence[t.Mapping[str, t.Any]]) -> None:
    """Add the volumes to a Pod template and mount them; one whose name is there already stays as it is."""
    extend(draft, container[:-2], "volumes", [source_of(volume) for volume in volumes], ("containers",))
    extend(draft, container, "volumeMounts", [mount_of(volume) for volume in volumes], ("resources", "ports"))


def add_pull_secrets(draft: Draft, container: Path, names: t.Sequence[str]) -> None:
    """Name the secrets in a Pod template."""
    secrets = [{"name": name} for name in names]
    extend(draft, container[:-2], "imagePullSecrets", secrets, ("nodeSelector", "terminationGracePeriodSeconds"))


def extend(draft: Draft, path: Path, key: str, items: t.Sequence[dict[str, t.Any]], after: t.Sequence[str]) -> None:
    """Add to a list of named things those whose name is not there yet."""
    present = draft.data(path + (key,))
    names = [item.get("name") for item in present or () if isinstance(item, dict)]
    missing = [item for item in items if item["name"] not in names]
    if missing and key not in draft.data(path):
        draft.add(path, key, missing, after)
        return
    for item in missing:
        draft.append(path + (key,), item)
