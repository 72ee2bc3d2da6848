# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The tags of the collection's playbooks, and those of a run that none of its tasks has."""

from __future__ import annotations

import difflib
import functools
import os
import typing as t
from collections import abc

import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "playbooks")
_PREFIX = "mindcluster.recovery."
_SITE = "site"

# What ansible-playbook itself gives a meaning.
_SPECIAL = frozenset({"all", "always", "never", "tagged", "untagged"})
_NEAR = 0.75


def refusals(playbooks: abc.Sequence[str], options: abc.Mapping[str, abc.Iterable[str]]) -> list[Finding]:
    """A finding for each tag that no task of the run has.

    :param playbooks: as the command line names them. Where one of them is not ours nothing is told, since a tag may
        be one of its own.
    :param options: the tags of C(--tags) and C(--skip-tags), by these names.
    """
    names = [_ours(playbook) for playbook in playbooks]
    if not names or None in names:
        return []
    known = frozenset().union(*(tags_of(str(name)) for name in names))
    # To leave out what another playbook of the collection does is no slip: one setting may serve several of them.
    legal = {"--skip-tags": known | tags_of(_SITE)}
    return [
        _refusal(option, tag, legal.get(option, known))
        for option, tags in options.items()
        for tag in _unknown(tags, legal.get(option, known))
    ]


def warnings(run_tags: abc.Iterable[str], inherited: abc.Iterable[str]) -> list[Finding]:
    """A finding for each tag that is nearly one of ours, in a run whose tags select nothing of ours.

    :param inherited: the tags of the task that asks, which has those of the playbook that imports ours.
    """
    known = tags_of(_SITE)
    given = set(run_tags)
    if given & (known | _SPECIAL | set(inherited)):
        return []
    near = {tag: difflib.get_close_matches(tag, known, n=1, cutoff=_NEAR) for tag in sorted(given)}
    return [
        Finding(
            "tag-near",
            "no task of the collection's playbooks has the tag `%s`" % tag,
            "Nothing of them but what always runs is run",
            "Say `%s` if you meant that; pass this over if the tag is your own" % found[0],
            "--tags",
        )
        for tag, found in near.items()
        if found
    ]


@functools.cache
def tags_of(name: str) -> frozenset[str]:
    """The tags that the plays and tasks of one of our playbooks have, those of the playbooks it imports included."""
    with open(os.path.join(FOLDER, name + ".yml"), encoding="utf-8") as stream:
        return frozenset(_tags(yaml.safe_load(stream))) - _SPECIAL


def _tags(node: t.Any) -> abc.Iterator[str]:
    if isinstance(node, list):
        for entry in node:
            yield from _tags(entry)
    elif isinstance(node, dict):
        tags = node.get("tags", [])
        yield from [tags] if isinstance(tags, str) else tags
        imported = node.get("ansible.builtin.import_playbook")
        if imported:
            yield from tags_of(os.path.splitext(imported)[0])
        for key in ("tasks", "block"):
            yield from _tags(node.get(key))


def _ours(playbook: str) -> str | None:
    """The name of one of our playbooks, given by its full name or by its path; None for any other."""
    name = playbook
    if name.startswith(_PREFIX) and not os.path.exists(name):
        name = name[len(_PREFIX) :]
    elif os.path.realpath(os.path.dirname(os.path.abspath(name))) == os.path.realpath(FOLDER):
        name = os.path.basename(name)
    else:
        return None
    name = os.path.splitext(name)[0] if name.endswith((".yml", ".yaml")) else name
    return name if os.path.isfile(os.path.join(FOLDER, name + ".yml")) else None


def _unknown(tags: abc.Iterable[str], known: abc.Set[str]) -> list[str]:
    # An empty one is what a pipeline's empty variable or a comma at the end leaves.
    return sorted(set(tags) - known - _SPECIAL - {""})


def _refusal(option: str, tag: str, known: abc.Set[str]) -> Finding:
    near = difflib.get_close_matches(tag, known, n=1, cutoff=_NEAR)
    listed = "there are %s" % ", ".join(sorted(known)) if known else "there are none"
    meant = (
        "Say `%s` if you meant that; %s" % (near[0], listed) if near else "Correct or leave out the tag; %s" % listed
    )
    why = "What you mean is not run, and the end would be well all the same"
    if option == "--skip-tags":
        why = "What you mean to leave out would be run"
    return Finding("tag-unknown", "no task of this run has the tag `%s`" % tag, why, meant, option)
