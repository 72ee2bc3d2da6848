# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What becomes of the two texts, by their syntax tree."""

from __future__ import annotations

import ast
import typing as t

import pytest
from torch_shapes import RECOVERY_MODULE, TASKD_MODULE, Shape, Site, vendor_sed

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher

NewSite = t.Callable[[str], Site]


def patch(site: Site, **options: t.Any) -> dict[str, t.Any]:
    """Patches a site and requires that nothing stands against it."""
    result = patcher.apply(torch_path=str(site.torch), **options)
    assert result["errors"] == []
    return result


def imports_before_torch(text: bytes) -> list[str]:
    """The modules that a top-level plain import names before the first import of torch."""
    names: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            names.append(str(node.module))
        if names and names[-1].split(".")[0] == "torch":
            return names[:-1]
    return names


def prefixed_returns(text: bytes) -> int:
    """How many statements of the store's function return a store with the attempt prefix."""
    function = next(n for n in ast.parse(text).body if getattr(n, "name", "") == "_create_c10d_store")
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    return sum("attempt_" in ast.unparse(node) for node in returns)


def test_both_patches_land_once_and_leave_again(new_site: NewSite, each_shape: Shape) -> None:
    site = new_site(each_shape.version)
    original = site.texts()

    first = patch(site)
    run, rendezvous = site.texts()
    assert first["changed"]
    assert imports_before_torch(run).count(RECOVERY_MODULE) == 1
    assert prefixed_returns(rendezvous) == 1
    assert first["run_py"]["state"] == "patched"
    assert first["rendezvous"]["state"] == ("native" if each_shape.native else "patched")

    assert not patch(site)["changed"]
    assert site.texts() == (run, rendezvous)

    undone = patch(site, state="absent")
    assert undone["changed"]
    assert site.texts() == original
    assert not patch(site, state="absent")["changed"]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_sed_left_becomes_one_clean_patch(new_site: NewSite, each_shape: Shape, times: int) -> None:
    site = new_site(each_shape.version)
    original = site.texts()
    patch(site)
    wanted = site.texts()
    patch(site, state="absent")

    vendor_sed(site, times)
    result = patch(site)
    assert site.texts() == wanted
    clean_already = each_shape.version == "2.13.0" and times == 1
    assert result["changed"] is not clean_already

    vendor_sed(site, times)
    patch(site, state="absent")
    assert site.texts() == original


def test_where_sed_works_the_result_has_the_same_bytes(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    vendor_sed(site)
    by_sed = site.texts()
    assert not patch(site)["changed"]
    assert site.texts() == by_sed


def test_text_in_a_docstring_is_no_patch(new_site: NewSite) -> None:
    site = new_site("2.6.0")
    text = site.run_py.read_text().replace(
        "    |    import argparse", "import mindx_elastic.api\n    |    import argparse"
    )
    site.run_py.write_text(text)
    found = patcher.inspect(str(site.torch))["run_py"]
    assert found["state"] == "repeated"
    assert found["count"] == 0
    assert "inside a string" in found["reason"]
    patch(site)
    assert imports_before_torch(site.run_py.read_bytes()).count(RECOVERY_MODULE) == 1
    assert b"\nimport mindx_elastic.api\n    |" not in site.run_py.read_bytes()


def test_moving_on_to_taskd_replaces_the_import_and_takes_the_block_out(new_site: NewSite, each_shape: Shape) -> None:
    site = new_site(each_shape.version)
    bare = site.rendezvous_py.read_bytes()
    patch(site)
    result = patch(site, import_module=TASKD_MODULE)
    assert result["changed"]
    assert imports_before_torch(site.run_py.read_bytes()).count(TASKD_MODULE) == 1
    assert RECOVERY_MODULE.encode() not in site.run_py.read_bytes()
    assert site.rendezvous_py.read_bytes() == bare
    assert result["run_py"]["found"] == "other"
    assert result["rendezvous"]["state"] == ("native" if each_shape.native else "runtime")
    assert not patch(site, import_module=TASKD_MODULE)["changed"]


def test_a_module_of_ones_own_is_replaced_and_removed_too(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    original = site.texts()
    for name in ("one", "two"):
        site.write(name + ".py", "")
        patch(site, import_module=name)
    assert [name for name in imports_before_torch(site.run_py.read_bytes()) if name in ("one", "two")] == ["two"]
    patch(site, state="absent")
    assert site.texts() == original


def test_never_takes_the_block_out(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    bare = site.rendezvous_py.read_bytes()
    patch(site)
    assert patch(site, rendezvous="never")["rendezvous"]["state"] == "unpatched"
    assert site.rendezvous_py.read_bytes() == bare


def test_line_ends_are_kept(new_site: NewSite, each_shape: Shape) -> None:
    site = new_site(each_shape.version)
    for path in (site.run_py, site.rendezvous_py):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    original = site.texts()
    vendor_sed(site)
    patch(site)
    for text in site.texts():
        assert text.count(b"\n") == text.count(b"\r\n")
    patch(site, state="absent")
    assert site.texts() == original


@pytest.mark.parametrize(
    "line",
    [
        "try:\n    import mindx_elastic.api\nexcept ImportError:\n    pass\n",
        "import mindx_elastic.api, os\n",
        "import mindx_elastic.api as agent\n",
        "from mindx_elastic import api\n",
        "import sys; import mindx_elastic.api\n",
    ],
)
@pytest.mark.parametrize("state", ["present", "absent"])
def test_an_import_by_hand_is_refused_with_its_line(new_site: NewSite, line: str, state: str) -> None:
    site = new_site("2.13.0")
    site.run_py.write_text(site.run_py.read_text().replace("import os\n", line + "import os\n"))
    before = site.texts()
    result = patcher.apply(state, torch_path=str(site.torch))
    assert [error["code"] for error in result["errors"]] == ["run-import-by-hand"]
    assert result["errors"][0]["where"].startswith("%s:" % site.run_py)
    assert "2.13.0" in result["errors"][0]["what"]
    assert result["run_py"]["state"] == "foreign"
    assert site.texts() == before


def test_an_import_after_torchs_own_is_put_right(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    text = site.run_py.read_text()
    site.run_py.write_text(text.replace("import torch\n", "import torch\nimport mindx_elastic.api\n"))
    assert patch(site)["run_py"]["found"] == "misplaced"
    assert RECOVERY_MODULE in imports_before_torch(site.run_py.read_bytes())
    patch(site, state="absent")
    assert site.run_py.read_text() == text


def test_without_import_os_the_import_goes_before_torchs_own(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.run_py.write_text(site.run_py.read_text().replace("import os\n", ""))
    patch(site)
    assert imports_before_torch(site.run_py.read_bytes())[-1] == RECOVERY_MODULE


def test_a_run_py_without_imports_of_torch_is_refused(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.run_py.write_text("def main():\n    pass\n")
    result = patcher.apply(torch_path=str(site.torch))
    assert [error["code"] for error in result["errors"]] == ["run-anchor-missing"]
    assert "import os" in result["errors"][0]["why"]


@pytest.mark.parametrize(
    ("old", "new", "looked_for"),
    [
        ("def _create_c10d_store(", "def _make_store(", "no top-level function"),
        ("    if _torchelastic_use_agent_store():", "    if _somebody_serves(hostname):", "in 0 statements"),
        ("hostname, port, rank, world_size, timeout", "hostname, port, rank, world_size, patience", "timeout"),
        ("import os\n", "from os import environ\n", "os"),
        ("    # check if port", "    store = PrefixStore('x', None)\n    # check if port", "PrefixStore"),
    ],
)
def test_another_rendezvous_is_refused_with_what_was_looked_for(
    new_site: NewSite, old: str, new: str, looked_for: str
) -> None:
    site = new_site("2.13.0")
    site.rendezvous_py.write_text(site.rendezvous_py.read_text().replace(old, new))
    before = site.texts()
    result = patcher.apply(torch_path=str(site.torch))
    assert [error["code"] for error in result["errors"]] == ["rendezvous-unsupported"]
    assert looked_for in result["errors"][0]["why"]
    assert "_agent_store_serves(hostname, port)" in result["errors"][0]["why"]
    assert "torch 2.13.0+cpu" in result["errors"][0]["what"]
    assert site.texts() == before
    assert patcher.apply(torch_path=str(site.torch), rendezvous="never")["ok"]


def test_a_prefix_by_another_hand_counts_and_is_said(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    text = site.rendezvous_py.read_text()
    block = "    if _torchelastic_use_agent_store():\n        from torch.distributed import PrefixStore as P\n"
    call = "        return PrefixStore(f'/worker/attempt_{os.environ[\"N\"]}', None)\n"
    site.rendezvous_py.write_text(text.replace("    if _torchelastic", block + call + "    if _torchelastic", 1))
    before = site.rendezvous_py.read_bytes()
    result = patch(site)
    assert result["rendezvous"]["state"] == "native"
    assert [warning["code"] for warning in result["warnings"]] == ["rendezvous-unexpected"]
    assert site.rendezvous_py.read_bytes() == before


def test_a_file_that_sed_cut_to_pieces_is_refused_with_its_line(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.rendezvous_py.write_text(site.rendezvous_py.read_text().replace("    if _torchelastic", "  if _torchelastic"))
    result = patcher.apply(torch_path=str(site.torch))
    assert [error["code"] for error in result["errors"]] == ["file-broken"]
    assert result["errors"][0]["where"].startswith("%s:" % site.rendezvous_py)


def test_every_mistake_at_once(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.run_py.write_text("pass\n")
    site.rendezvous_py.write_text("pass\n")
    (site.folder / "mindx_elastic" / "api.py").unlink()
    codes = [error["code"] for error in patcher.apply(torch_path=str(site.torch))["errors"]]
    assert codes == ["run-anchor-missing", "rendezvous-unsupported", "import-missing"]


@pytest.mark.parametrize("name", ["", "import os", "a;b", "a..b", "a.b\n", "-m"])
def test_what_is_no_modules_name_never_reaches_the_file(new_site: NewSite, name: str) -> None:
    site = new_site("2.13.0")
    result = patcher.apply(torch_path=str(site.torch), import_module=name)
    assert [error["code"] for error in result["errors"]] == ["module-name"]


@pytest.mark.parametrize("name", ["os", "os.path", "torch", "torch.distributed", "logging"])
def test_a_module_that_run_py_may_import_itself_is_refused(new_site: NewSite, name: str) -> None:
    site = new_site("2.13.0")
    before = site.texts()
    for state in ("present", "absent"):
        result = patcher.apply(state, torch_path=str(site.torch), import_module=name)
        assert [error["code"] for error in result["errors"]] == ["module-not-recovery"]
    assert site.texts() == before


def test_check_mode_tells_the_same_and_writes_nothing(new_site: NewSite, each_shape: Shape) -> None:
    site = new_site(each_shape.version)
    before = site.texts()
    foretold = patch(site, check=True)
    assert site.texts() == before
    done = patch(site)
    assert foretold == {**done, "import": foretold["import"]}
    assert [entry["before"].encode() for entry in done["diff"]] == [
        text for text, new in zip(before, site.texts(), strict=True) if text != new
    ]
