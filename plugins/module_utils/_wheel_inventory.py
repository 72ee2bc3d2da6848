# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The wheel files that a user names, checked before anything else happens."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, nearest
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_rules import check_wheel_contents
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import (
    normalise,
    parse_name,
    parse_sha256,
    read_wheel,
    sha256_of,
)

Json = t.Dict[str, t.Any]

KNOWN = ("mindx_elastic", "mindio_ttp", "taskd")

_OPTION = "training_image_wheels"
_HOUSE = "training_image_wheelhouse"


class Inventory:
    """What was found.

    :ivar wheels: by key, what C(read_wheel) tells and C(path); only the wheels that the plan needs.
    :ivar variants: the same as a list for each wheel that is given once for each architecture.
    :ivar wheelhouse: the same for each file of the wheelhouse, by name.
    :ivar findings: what forbids a build.
    :ivar warnings: what does not.
    """

    def __init__(self) -> None:
        self.wheels: dict[str, Json] = {}
        self.variants: dict[str, list[Json]] = {}
        self.wheelhouse: list[Json] = []
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []


def collect(
    wheels: t.Any,
    wheelhouse: str | None,
    needed: t.Sequence[str],
    resolve: t.Callable[[str], str | None],
    several: bool = False,
) -> Inventory:
    """Read all wheels that the user names.

    :param wheels: the option: a map of names to C({path, sha256}).
    :param needed: the names that the plan needs.
    :param several: whether a wheel may be a list, one file for each architecture.
    :param resolve: gives the file or folder that a path of the user's means, or None where there is none.
    """
    inventory = Inventory()
    given = wheels if isinstance(wheels, t.Mapping) else {}
    if not isinstance(wheels, t.Mapping):
        inventory.findings.append(_not_a_map(wheels))
    for key in needed:
        if key in given:
            _take_all(inventory, key, given[key], resolve, several)
        elif isinstance(wheels, t.Mapping):
            inventory.findings.append(_missing(key, needed, given))
    inventory.warnings += [_unneeded(key, needed) for key in sorted(map(str, given)) if key not in needed]
    if wheelhouse:
        _take_house(inventory, wheelhouse, [normalise(key) for key in needed], resolve)
    return inventory


def _take_all(
    inventory: Inventory, key: str, entry: t.Any, resolve: t.Callable[[str], str | None], several: bool
) -> None:
    """One file, or one for each architecture."""
    if not isinstance(entry, list):
        wheel = _take(inventory, key, entry, resolve, "%s.%s" % (_OPTION, key))
        inventory.wheels.update({key: wheel} if wheel else {})
        return
    if not several or not entry:
        inventory.findings.append(_a_list(key, len(entry)))
        return
    places = ["%s.%s[%d]" % (_OPTION, key, number) for number in range(len(entry))]
    found = [_take(inventory, key, one, resolve, where) for one, where in zip(entry, places)]
    inventory.variants[key] = [wheel for wheel in found if wheel]
    if inventory.variants[key]:
        inventory.wheels[key] = inventory.variants[key][0]


def _take(
    inventory: Inventory, key: str, entry: t.Any, resolve: t.Callable[[str], str | None], where: str
) -> Json | None:
    path, wanted, findings = _read_entry(key, entry, where)
    found = resolve(path) if path else None
    if path and not (found and os.path.isfile(found)):
        findings.append(_no_file(path, where))
    wheel = None
    if path and found and not findings:
        findings += _check_sha256(found, wanted, where)
        try:
            wheel = dict(read_wheel(found), path=found)
            findings += check_wheel_contents({key: wheel})
        except Refused as exc:
            findings += [_placed(finding, where) for finding in exc.findings]
    inventory.findings += findings
    return wheel


def _read_entry(key: str, entry: t.Any, where: str) -> tuple[str, t.Any, list[Finding]]:
    """Path and sha256 of an entry; the path is empty where no file can be looked for."""
    path = entry.get("path") if isinstance(entry, t.Mapping) else entry
    wanted = entry.get("sha256") if isinstance(entry, t.Mapping) else None
    if not isinstance(path, str) or not path.strip():
        return "", wanted, [_no_path(key, where)]
    if "://" in path:
        return "", wanted, [_address(path, where)]
    if not path.endswith(".whl"):
        return "", wanted, [_bare_name(path, where) if "/" not in path else _no_wheel(path, where)]
    return path, wanted, []


def _check_sha256(path: str, wanted: t.Any, where: str) -> list[Finding]:
    actual = sha256_of(path)
    if not wanted:
        return [
            Finding(
                "wheel-without-sha256",
                "`%s` has no sha256 beside its path" % os.path.basename(path),
                "Nothing would tell a damaged or exchanged file from the vendor's",
                "Compare with the vendor's checksum, then set `sha256: %s`" % actual,
                where,
            )
        ]
    expected = parse_sha256(str(wanted))
    if expected is None:
        what, remedy = "`%s` is no sha256" % wanted, "Write its 64 hexadecimal digits, in quotes"
    elif expected != actual:
        what = "`%s` has the sha256 %s, and %s is expected" % (os.path.basename(path), actual, expected)
        remedy = "Copy the file again from the vendor's package; correct the sha256 only if that is the right file"
    else:
        return []
    return [Finding("wheel-wrong-sha256", what, "The file is not the one that was meant", remedy, where)]


def _take_house(
    inventory: Inventory, wheelhouse: str, named: t.Sequence[str], resolve: t.Callable[[str], str | None]
) -> None:
    """Read the wheelhouse, but for other copies of the wheels that are named with a sha256 each."""
    folder = resolve(wheelhouse)
    if not folder or not os.path.isdir(folder):
        inventory.findings.append(
            Finding(
                "wheelhouse-missing",
                "there is no folder `%s` on the controller" % wheelhouse,
                "What the wheels need beyond the base image comes from it",
                "Make it (`pip download -d FOLDER NAME…` on a machine with an index), or leave the variable out",
                _HOUSE,
            )
        )
        return
    for name in sorted(os.listdir(folder)):
        parsed = parse_name(name)
        if parsed is not None and normalise(parsed.name) in named:
            continue
        if parsed is None:
            if name.endswith((".tar.gz", ".zip", ".whl")):
                inventory.warnings.append(_house_skips(name))
            continue
        path = os.path.join(folder, name)
        try:
            inventory.wheelhouse.append(dict(read_wheel(path), path=path))
        except Refused as exc:
            inventory.findings += [_placed(finding, _HOUSE) for finding in exc.findings]


def _placed(finding: Finding, where: str) -> Finding:
    return Finding(finding.code, finding.what, finding.why, finding.remedy, where)


def _not_a_map(wheels: t.Any) -> Finding:
    return Finding(
        "wheels-not-a-map",
        "the wheels are given as %s" % type(wheels).__name__,
        "Each wheel has a name, a path and a sha256",
        "Write `taskd: {path: /…/taskd-….whl, sha256: …}` for each",
        _OPTION,
    )


def _missing(key: str, needed: t.Sequence[str], given: t.Mapping[str, t.Any]) -> Finding:
    close = nearest(key, [str(name) for name in given if name not in needed])
    hint = " (`%s` is there: is that what was meant?)" % close if close else ""
    return Finding(
        "wheel-needed",
        "the plan needs the wheel %s, and none is given%s" % (key, hint),
        "Without it the job does not recover",
        "Add `%s: {path: …, sha256: …}`" % key,
        _OPTION,
    )


def _unneeded(key: str, needed: t.Sequence[str]) -> Finding:
    if key in KNOWN:
        return Finding(
            "wheel-unneeded",
            "the wheel %s is given, and the plan does not need it" % key,
            "It is not installed",
            "Leave it out, or ask for what needs it",
            "%s.%s" % (_OPTION, key),
        )
    close = nearest(key, KNOWN)
    return Finding(
        "wheel-unknown",
        "`%s` is no wheel that the collection knows" % key,
        "It is not installed",
        "%sThe plan needs %s" % ("Did you mean `%s`? " % close if close else "", ", ".join(needed)),
        "%s.%s" % (_OPTION, key),
    )


def _a_list(key: str, count: int) -> Finding:
    return Finding(
        "wheel-list",
        "the wheel %s is given as a list of %d files" % (key, count),
        "The builder docker makes an image for one architecture" if count else "The image would lack it",
        "Give one path with its sha256; the builder registry takes a list with one for each architecture",
        "%s.%s" % (_OPTION, key),
    )


def _no_path(key: str, where: str) -> Finding:
    return Finding(
        "wheel-without-path",
        "the wheel %s has no path" % key,
        "Wheels are installed from files only",
        "Write `%s: {path: /…/file.whl, sha256: …}`" % key,
        where,
    )


def _bare_name(path: str, where: str) -> Finding:
    return Finding(
        "wheel-bare-name",
        "`%s` is the name of a package, not the path of a wheel" % path,
        "No index is ever asked: the vendor's wheels are on none, and the package `taskd` of the public index is a "
        "stranger's",
        "Download the vendor's package and give the path of the .whl file in it with its sha256",
        where,
    )


def _address(path: str, where: str) -> Finding:
    return Finding(
        "wheel-address",
        "`%s` is an address, not the path of a file" % path,
        "The build has no network and takes files only",
        "Download it first and give its path",
        where,
    )


def _no_wheel(path: str, where: str) -> Finding:
    return Finding(
        "wheel-unreadable",
        "`%s` does not end in .whl" % path,
        "The build has no compiler and installs wheels only",
        "Unpack the vendor's archive and give the path of the .whl file in it",
        where,
    )


def _no_file(path: str, where: str) -> Finding:
    return Finding(
        "wheel-missing",
        "there is no file `%s` on the controller" % path,
        "Wheels are installed from files only",
        "Correct the path; a relative one counts from the folder of the playbook or role, or the working directory",
        where,
    )


def _house_skips(name: str) -> Finding:
    return Finding(
        "wheelhouse-skipped",
        "`%s` in the wheelhouse is not a wheel" % name,
        "It is passed over: the build has no compiler",
        "Make a wheel of it (`pip wheel --no-deps FILE`)",
        _HOUSE,
    )
