# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every torch release on the package index: put in, once more, taken out, and after the vendor's commands."""

from __future__ import annotations

import ast
import typing as t

import pytest
from torch_files import Release
from torch_shapes import RECOVERY_MODULE, Site, vendor_sed
from torch_table import TABLE, Expected, expected_of

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher


def patch(site: Site, state: str = "present") -> dict[str, t.Any]:
    result = patcher.apply(state, torch_path=str(site.torch))
    assert result["errors"] == []
    return result


def assert_run_py(text: bytes, expected: Expected) -> None:
    """One top-level import of the module, on the line that the table says, before the first import of torch."""
    top = [node for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [node.names[0].name if isinstance(node, ast.Import) else str(node.module) for node in top]
    assert [node.lineno for node, name in zip(top, names, strict=True) if name == RECOVERY_MODULE] == [
        expected.run_line
    ]
    assert names.index(RECOVERY_MODULE) < next(i for i, name in enumerate(names) if name.split(".")[0] == "torch")
    assert text.count(RECOVERY_MODULE.encode()) == 1


def assert_rendezvous_py(text: bytes, expected: Expected) -> None:
    """The first C(if) on the agent's store returns it under the attempt's prefix, and nothing else does."""
    function = next(
        n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "_create_c10d_store"
    )
    branches = [n for n in function.body if isinstance(n, ast.If) and "agent_store" in ast.unparse(n.test)]
    assert branches[0].lineno == expected.rendezvous_line
    assert len(branches) == (1 if expected.rendezvous == "native" else 2)
    assert ast.dump(branches[0].test) == ast.dump(branches[-1].test)
    returned = [
        ast.unparse(n) for n in ast.walk(function) if isinstance(n, ast.Return) and "attempt_" in ast.unparse(n)
    ]
    assert returned == ["return PrefixStore(f'/worker/attempt_{attempt}', tcp_store)"]
    assert returned[0] == ast.unparse(branches[0].body[-1])


def after_sed(site: Site, times: int, original: tuple[bytes, bytes], clean: tuple[bytes, bytes], row: Expected) -> str:
    """Lets the vendor's commands loose on the original files; what the patcher makes of that, in a word."""
    site.run_py.write_bytes(original[0])
    site.rendezvous_py.write_bytes(original[1])
    vendor_sed(site, times)
    blocks = site.rendezvous_py.read_bytes().count(b"from torch.distributed import PrefixStore\n")
    assert site.run_py.read_bytes().splitlines().count(b"import mindx_elastic.api") == row.sed_run * times
    assert blocks == row.sed_rendezvous * (2**times - 1)

    by_sed = site.texts()
    result = patch(site)
    assert site.texts() == clean
    assert result["changed"] is (by_sed != clean)
    found = "kept" if by_sed == clean else "repaired"

    site.run_py.write_bytes(by_sed[0])
    site.rendezvous_py.write_bytes(by_sed[1])
    patch(site, "absent")
    assert site.texts() == original
    return found


def test_release(
    release: Release,
    release_site: t.Callable[[Release], Site],
    record_property: t.Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = expected_of(release.version, patcher.AGENT_TESTS)
    site = release_site(release)
    original = site.texts()
    for files in release.files.values():
        assert (files["torch/distributed/run.py"], files["torch/distributed/rendezvous.py"]) == original

    first = patch(site)
    clean = site.texts()
    # Once for each release is enough to try the import of the same stub.
    monkeypatch.setattr(patcher, "prove_import", lambda module, beside: first["import"])
    assert first["changed"]
    assert first["warnings"] == []
    assert first["torch_version"].split("+")[0] == release.version
    assert (first["run_py"]["state"], first["run_py"]["line"]) == ("patched", expected.run_line)
    assert first["rendezvous"]["state"] == expected.rendezvous
    assert first["rendezvous"]["line"] == expected.rendezvous_line
    assert_run_py(clean[0], expected)
    assert_rendezvous_py(clean[1], expected)
    if expected.rendezvous == "native":
        assert clean[1] == original[1]

    assert not patch(site)["changed"]
    assert site.texts() == clean
    assert patcher.inspect(str(site.torch))["satisfied"]
    assert patch(site, "absent")["changed"]
    assert site.texts() == original

    seds = tuple(after_sed(site, times, original, clean, expected) for times in (1, 2, 3))
    where = ("patched:%d" % expected.run_line, "%s:%d" % (expected.rendezvous, expected.rendezvous_line))
    aarch64 = "same" if "aarch64" in release.files else "no wheel"
    row = [release.version, first["torch_version"], *where, aarch64, "unchanged", "original", *seds]
    record_property("row", row)


def test_every_row_of_the_table_is_a_release_that_the_index_has(request: pytest.FixtureRequest) -> None:
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    asked = {call.id for call in calls if call}
    assert set(TABLE) <= asked


def test_a_release_newer_than_the_table_fails_and_says_what_to_look_at() -> None:
    with pytest.raises(
        AssertionError, match=r"(?s)torch 99\.1\.0 is on the package index.*_create_c10d_store.*add a row"
    ):
        expected_of("99.1.0", patcher.AGENT_TESTS)
