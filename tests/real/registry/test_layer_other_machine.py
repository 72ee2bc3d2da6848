# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images for a machine that this one is not: Debian's packages for aarch64, which nothing here could run."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import sys
import tarfile
import typing as t

import equality
import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import OCI_INDEX, Registry
from parts import stub_wheels

LOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  tasks:
    - mindcluster.recovery.training_image_info: {image: "{{ image }}", engine: none, platform: "{{ platform }}"}
      register: seen
    - ansible.builtin.copy: {content: "{{ seen }}", dest: "{{ answer }}", mode: "0600"}
"""

VERIFY = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  tasks:
    - ansible.builtin.include_role: {name: mindcluster.recovery.training_image, tasks_from: verify}
    - ansible.builtin.copy: {content: "{{ training_image_verified }}", dest: "{{ answer }}", mode: "0600"}
"""


@pytest.fixture(scope="module")
def site(need: t.Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, t.Any]:
    """Variables of a site whose nodes are aarch64."""
    base = need("SANDBOX_REGISTRY") + "/other/base:1"
    push = str(equality.ROOT / "examples" / "demo" / "push_base.py")
    equality.run([sys.executable, push, need("SANDBOX_TAR_ARM64"), base, "--architecture=arm64", "--kind=oci"])
    wheels = tmp_path_factory.mktemp("wheels")
    stub_wheels.write_all(wheels, "aarch64")
    return {
        "recovery_plan_strategies": ["retry", "recover", "dump"],
        "recovery_plan_arch": "aarch64",
        "training_image_builder": "registry",
        "training_image_base": base,
        "training_image_repository": need("SANDBOX_REGISTRY") + "/other/image",
        "training_image_tag": "1",
        "training_image_wheels": json.loads((wheels / "wheels.json").read_text(encoding="utf-8")),
        "training_image_wheelhouse": str(wheels / "wheelhouse"),
    }


def test_an_image_for_aarch64_is_built_and_proved_here(site: dict[str, t.Any], tmp_path: pathlib.Path) -> None:
    ref = equality.build(site, tmp_path, "registry")["ref"]
    registry = Registry(os.environ["SANDBOX_REGISTRY"])
    manifest = json.loads(registry.manifest("other/image", ref.partition("@")[2]).body)
    config = json.loads(read_blob(registry, "other/image", manifest["config"]))
    assert (config["architecture"], len(config["rootfs"]["diff_ids"])) == ("arm64", 2)
    assert manifest["annotations"]["mindcluster.recovery.torch"] == "2.6.0+debian"
    layer = gzip.decompress(read_blob(registry, "other/image", manifest["layers"][1]))
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        files = {member.name: member for member in archive}
        torch = "usr/lib/python3/dist-packages/torch/distributed"
        text = t.cast("t.IO[bytes]", archive.extractfile(f"{torch}/run.py")).read().decode()
    assert "\nimport mindx_elastic.api\nimport os\n" in text
    assert {f"{torch}/rendezvous.py", "usr/local/lib/python3.13/dist-packages/mindx_elastic/api.py"} <= set(files)
    assert all(member.mtime == files[f"{torch}/run.py"].mtime for member in files.values() if member.isfile())
    seen = look(ref, tmp_path)
    assert (seen["arch"], seen["landed"], seen["python_version"]) == ("aarch64", True, "3.13.5")
    assert [patch["state"] for patch in seen["patches"]] == ["patched", "patched"]


def read_blob(registry: Registry, repository: str, descriptor: dict[str, t.Any]) -> bytes:
    with registry.open_blob(repository, descriptor["digest"], descriptor["size"]) as stream:
        return stream.read()


def look(ref: str, folder: pathlib.Path, platform: str = "linux/arm64") -> dict[str, t.Any]:
    (folder / "look.yml").write_text(LOOK, encoding="utf-8")
    program = str(pathlib.Path(sys.executable).parent / "ansible-playbook")
    given = ["-e", f"image={ref}", "-e", f"answer={folder / 'seen'}", "-e", f"platform={platform}"]
    equality.run([program, "-i", "localhost,", str(folder / "look.yml"), *given])
    seen: dict[str, t.Any] = json.loads((folder / "seen").read_text(encoding="utf-8"))
    return seen


def verified(variables: dict[str, t.Any], folder: pathlib.Path) -> list[dict[str, str]]:
    """The rows of verify.yml about the image."""
    (folder / "verify.yml").write_text(VERIFY, encoding="utf-8")
    (folder / "variables.json").write_text(json.dumps(variables), encoding="utf-8")
    program = str(pathlib.Path(sys.executable).parent / "ansible-playbook")
    given = ["-e", f"@{folder / 'variables.json'}", "-e", f"answer={folder / 'rows'}"]
    equality.run([program, "-i", "localhost,", str(folder / "verify.yml"), *given])
    rows: list[dict[str, str]] = json.loads((folder / "rows").read_text(encoding="utf-8"))
    return rows


def test_wheels_for_this_machine_are_refused(site: dict[str, t.Any], tmp_path: pathlib.Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    stub_wheels.write_all(own, "x86_64")
    wheels = json.loads((own / "wheels.json").read_text(encoding="utf-8"))
    with pytest.raises(RuntimeError, match="is built for linux_x86_64, and the image is aarch64"):
        equality.build(dict(site, training_image_wheels=wheels, training_image_tag="2"), tmp_path, "registry")


def test_an_index_has_an_image_for_each_platform(
    site: dict[str, t.Any], need: t.Callable[[str], str], tmp_path: pathlib.Path
) -> None:
    registry = Registry(need("SANDBOX_REGISTRY"))
    base = push_index(registry, {"arm64": need("SANDBOX_TAR_ARM64"), "amd64": need("SANDBOX_TAR_BARE")})
    wheels: dict[str, list[t.Any]] = {}
    for machine in ("x86_64", "aarch64"):
        own = tmp_path / machine
        own.mkdir()
        stub_wheels.write_all(own, machine)
        for name, entry in json.loads((own / "wheels.json").read_text(encoding="utf-8")).items():
            wheels.setdefault(name, []).append(entry)
    platforms = ["linux/amd64", "linux/arm64"]
    variables = dict(
        site,
        recovery_plan_framework="mindspore",
        training_image_base=base,
        training_image_wheels=wheels,
        training_image_platforms=platforms,
        training_image_repository=need("SANDBOX_REGISTRY") + "/other/several",
    )
    built = equality.build(variables, tmp_path, "first")
    index = registry.manifest("other/several", "1")
    assert (built["changed"], built["digest"]) == (True, index.digest)
    assert [image["platform"] for image in built["images"]] == platforms
    for entry, image in zip(json.loads(index.body)["manifests"], built["images"], strict=True):
        assert (entry["digest"], f"linux/{entry['platform']['architecture']}") == (image["digest"], image["platform"])
    for platform, machine, version in (("linux/amd64", "x86_64", "3.11.2"), ("linux/arm64", "aarch64", "3.13.5")):
        seen = look(built["ref"], tmp_path, platform)
        assert (seen["arch"], seen["python_version"], seen["landed"]) == (machine, version, True)
        assert seen["digest"] == index.digest
    pieces = {row["piece"]: row["state"] for row in verified(variables, tmp_path)}
    assert set(pieces.values()) == {"ok"}
    assert {"image (linux/amd64)", "image: import taskd (linux/arm64)"} <= set(pieces)
    again = equality.build(variables, tmp_path, "again")
    assert (again["changed"], again["ref"]) == (False, built["ref"])
    assert again["statistics"]["requests"] <= 2  # how the registry speaks, and the index


def push_index(registry: Registry, tars: dict[str, str]) -> str:
    """A base image for several platforms, as registries have them of builders that make them."""
    manifests = []
    for architecture, tar in tars.items():
        name = f"{registry.host}/other/several-base:{architecture}"
        push = str(equality.ROOT / "examples" / "demo" / "push_base.py")
        equality.run([sys.executable, push, tar, name, f"--architecture={architecture}", "--kind=oci"])
        manifest = registry.manifest("other/several-base", architecture)
        platform = {"os": "linux", "architecture": architecture}
        manifests.append(
            {
                "mediaType": manifest.media_type,
                "digest": manifest.digest,
                "size": len(manifest.body),
                "platform": platform,
            }
        )
    body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests}).encode()
    registry.put_manifest("other/several-base", "1", OCI_INDEX, body)
    return f"{registry.host}/other/several-base:1"


def test_a_base_image_that_moved_is_noticed_when_it_is_asked_for(
    site: dict[str, t.Any], need: t.Callable[[str], str], tmp_path: pathlib.Path
) -> None:
    base = need("SANDBOX_REGISTRY") + "/other/moving:1"
    push = [sys.executable, str(equality.ROOT / "examples" / "demo" / "push_base.py"), need("SANDBOX_TAR_ARM64"), base]
    push.append("--architecture=arm64")
    equality.run(push)
    own = dict(site, training_image_base=base, training_image_repository=need("SANDBOX_REGISTRY") + "/other/moved")
    first = equality.build(own, tmp_path, "first")
    equality.run([*push, '--settings={"Env": ["NEW=1"]}'])
    kept = equality.build(own, tmp_path, "kept")
    assert (kept["changed"], kept["ref"]) == (False, first["ref"])
    asked = equality.build(dict(own, training_image_pull="always"), tmp_path, "asked")
    assert asked["changed"] and asked["ref"] != first["ref"]
    assert asked["images"][0]["base_digest"] != first["images"][0]["base_digest"]
    # The base image's layers are the same ones, and so is the new layer.
    assert asked["images"][0]["layer"] == first["images"][0]["layer"]
    assert asked["statistics"]["bytes_up"] < 20_000
