# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds one image with an engine and without, and compares every path of the two file systems.

`make equality` prints the report. Compared are paths, kinds, modes, owners, link targets, device numbers, extended
attributes and contents. Times are not, since an engine writes the time of the build into its layers. What may differ is
in C(DIFFERENCES), each with its reason; anything else is a fault.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "sandbox"))

from parts.wheel_writer import Wheel, sha256, write  # noqa: E402 (the sandbox is a program of its own)

PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  roles: [mindcluster.recovery.training_image]
  post_tasks:
    - ansible.builtin.copy: {content: "{{ __training_image_built | to_json }}", dest: "{{ answer }}", mode: "0600"}
"""
AGENT = "python3 -m torch.distributed.run --help > /dev/null && cat /tmp/record"
SHOWN = 20


class Case(t.NamedTuple):
    """One base image.

    :ivar tar: the variable that names its file tree; empty where it is made with C(dockerfile).
    :ivar proof: a shell command that both images must answer with C(says).
    """

    name: str
    tar: str
    proof: str
    says: str
    variables: dict[str, t.Any]
    dockerfile: str = ""


class Seen(t.NamedTuple):
    """What is compared of a path."""

    kind: str
    mode: str
    owner: str
    link: str
    xattrs: str
    content: bytes | str


class Report(t.NamedTuple):
    """What the comparison found: how many paths, named differences with their paths, all others in words."""

    name: str
    paths: int
    named: dict[str, list[str]]
    faults: list[str]
    answers: tuple[str, str]


CASES = (
    Case(
        "torch 2.6.0 on Debian 13",
        "SANDBOX_TAR_TORCH26",
        AGENT,
        "mindx_elastic.api imported, torch agent loaded: False",
        {"recovery_plan_torch_version": "2.6.0"},
    ),
    Case(
        "torch 1.13.1 on Debian 12",
        "SANDBOX_TAR_TORCH113",
        AGENT,
        "mindx_elastic.api imported, torch agent loaded: False",
        {},
    ),
    Case(
        "MindSpore in a virtual environment, with wheels to be replaced",
        "",
        "cd /tmp && ttp-check && python /opt/ms/bin/ttp-run && TASKD_RECORD=/tmp/record /opt/ms/bin/python -c "
        "'import taskd.python.adaptor.elastic_training, google.protobuf' && cat /tmp/record",
        "checked ran taskd.python.adaptor.elastic_training imported, torch agent loaded: False",
        {"recovery_plan_framework": "mindspore", "training_image_python": "/opt/ms/bin/python"},
        "FROM {base}\n"
        "COPY wheels /wheels\n"
        "RUN python3 -m venv --without-pip --system-site-packages /opt/ms\n"
        "RUN /opt/ms/bin/python -m pip install --no-index --no-deps /wheels/*.whl && rm -r /wheels\n"
        "ENV PATH=/opt/ms/bin:/usr/local/bin:/usr/bin:/bin\n"
        "USER 65534:65534\n",
    ),
)

#: Names of files whose contents may differ, what of them is compared nevertheless, and why.
DIFFERENCES: tuple[tuple[str, str, t.Callable[[str, str], bool]], ...] = (
    (r"\.dist-info/INSTALLER\Z", "names the tool that installed: pip, or this collection", lambda one, other: True),
    (
        r"\.dist-info/RECORD\Z",
        "has the checksums of INSTALLER and of console scripts, which differ",
        lambda one, other: _record(one) == _record(other),
    ),
    (
        r"/bin/[^/]+\Z",
        "console script: pip and PyPA's installer write the same call of the same function in other words",
        lambda one, other: _call(one) == _call(other),
    ),
)


def _record(text: str) -> list[list[str]]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    changing = ("/INSTALLER", "/ttp-check")
    return [[row[0]] if row[0].endswith(changing) else row for row in rows]


def _call(text: str) -> tuple[str, str, str]:
    """First line, import and call of a console script."""
    found = re.search(r"^from (\S+) import (\S+)$.*sys\.exit\((\w+)(?:\.\w+)*\(\)\)", text, re.DOTALL | re.MULTILINE)
    return (text.splitlines()[0], *found.group(1, 2)) if found else ("", "", text)


# --- building ---------------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> Report:
    """Build both images of a case, compare them and run both."""
    folder.mkdir(parents=True, exist_ok=True)
    registry = os.environ["SANDBOX_REGISTRY"]
    slug = re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-")
    base = f"{registry}/equality/base-{slug}:1"
    _push_base(case, base, folder)
    variables = _variables(case, folder)
    refs = []
    for builder in ("docker", "registry"):
        own = dict(variables, training_image_builder=builder, training_image_base=base)
        own["training_image_repository"] = f"{registry}/equality/{builder}-{slug}"
        refs.append(str(build(own, folder, builder)["ref"]))
    trees = [_exported(ref) for ref in refs]
    answers = [_answer(ref, case.proof) for ref in refs]
    return _report(case.name, *trees, (answers[0], answers[1]))


def _push_base(case: Case, base: str, folder: Path) -> None:
    if case.tar:
        push = str(ROOT / "examples" / "demo" / "push_base.py")
        run([sys.executable, push, os.environ[case.tar], base])
        return
    context = folder / "context"
    (context / "wheels").mkdir(parents=True)
    for wheel in _old_wheels():
        write(wheel, context / "wheels")
    (context / "Dockerfile").write_text(case.dockerfile.format(base=os.environ["SANDBOX_BASE_BARE"]), encoding="utf-8")
    run(["docker", "build", "--quiet", "--tag", base, str(context)])
    run(["docker", "push", "--quiet", base])


def _old_wheels() -> list[Wheel]:
    """What the base image for MindSpore has installed: a framework, and versions that are to be replaced."""
    return [
        Wheel("mindspore", "2.4.10", {"mindspore/__init__.py": ""}),
        Wheel("protobuf", "3.20.3", {"google/protobuf/__init__.py": "", "google/protobuf/old.py": "OLD = True\n"}),
        Wheel("taskd", "6.0.0", {"taskd/__init__.py": "", "taskd/old/__init__.py": "", "taskd_extra.py": ""}),
    ]


def _variables(case: Case, folder: Path) -> dict[str, t.Any]:
    stand_ins = Path(os.environ["SANDBOX_WHEELS"])
    wheels = json.loads((stand_ins / "wheels.json").read_text(encoding="utf-8"))
    if case.dockerfile:
        path = write(_wheel_with_everything(), folder)
        wheels["mindio_ttp"] = {"path": str(path), "sha256": sha256(path)}
    return {
        "recovery_plan_strategies": ["retry", "recover", "dump"],
        "training_image_wheels": wheels,
        "training_image_wheelhouse": str(stand_ins / "wheelhouse"),
        **case.variables,
    }


def _wheel_with_everything() -> Wheel:
    """A wheel with a console script, a script of its own, data, and a library."""
    data = "mindio_ttp-7.2rc1.data"
    packages = ("mindio_ttp", "mindio_ttp/framework_ttp", "mindio_ttp/controller_ttp")
    files: dict[str, bytes | str] = {f"{name}/__init__.py": "" for name in packages}
    files["mindio_ttp/cli.py"] = "def main():\n    print('checked')\n"
    files["mindio_ttp/libttp.so"] = b"\x7fELF stand-in"
    files[f"{data}/scripts/ttp-run"] = "#!python\nprint('ran')\n"
    files[f"{data}/data/share/ttp/notes.txt"] = "notes\n"
    files["mindio_ttp-7.2rc1.dist-info/entry_points.txt"] = "[console_scripts]\nttp-check = mindio_ttp.cli:main\n"
    return Wheel("mindio_ttp", "7.2rc1", files, f"py3-none-linux_{os.uname().machine}")


def build(variables: dict[str, t.Any], folder: Path, name: str) -> dict[str, t.Any]:
    """What the builder returned to the role."""
    playbook, answer = folder / "build.yml", folder / f"{name}.answer"
    playbook.write_text(PLAYBOOK, encoding="utf-8")
    given = folder / f"{name}.json"
    given.write_text(json.dumps(dict(variables, answer=str(answer))), encoding="utf-8")
    environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
    program = str(Path(sys.executable).parent / "ansible-playbook")
    run([program, "-i", "localhost,", str(playbook), "-e", f"@{given}"], env=environment)
    built: dict[str, t.Any] = json.loads(answer.read_text(encoding="utf-8"))
    return built


# --- comparing --------------------------------------------------------------------------------------------------------


def _exported(ref: str) -> dict[str, Seen]:
    """The file system of an image as the engine exports it."""
    run(["docker", "pull", "--quiet", ref])
    container = run(["docker", "create", ref, "/nothing"]).strip()
    try:
        export = subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=export.stdout, mode="r|") as archive:
            found = {member.name: _path(archive, member) for member in archive}
        assert export.wait() == 0
    finally:
        run(["docker", "rm", container])
    return found


def _path(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Seen:
    content: bytes | str = ""
    if member.isreg():
        data = t.cast("t.IO[bytes]", archive.extractfile(member)).read()
        content = data if _may_differ(member.name) else hashlib.sha256(data).hexdigest()
    kind = {tarfile.LNKTYPE: "hard link", tarfile.SYMTYPE: "link", tarfile.DIRTYPE: "folder"}.get(member.type, "file")
    if member.isdev():
        kind = f"device {member.devmajor}:{member.devminor}"
    xattrs = {key: value for key, value in member.pax_headers.items() if "xattr" in key}
    return Seen(kind, f"{member.mode:o}", f"{member.uid}:{member.gid}", member.linkname, str(xattrs), content)


def _may_differ(name: str) -> bool:
    return any(re.search(pattern, name) for pattern, _reason, _same in DIFFERENCES)


def _report(name: str, one: dict[str, Seen], other: dict[str, Seen], answers: tuple[str, str]) -> Report:
    named: dict[str, list[str]] = {}
    faults = [f"only the engine's image has {path}" for path in sorted(set(one) - set(other))]
    faults += [f"only the other image has {path}" for path in sorted(set(other) - set(one))]
    for path in sorted(set(one) & set(other)):
        if one[path] == other[path]:
            continue
        reason = _reason(path, one[path], other[path])
        if reason:
            named.setdefault(reason, []).append(path)
        else:
            parts = zip(Seen._fields, one[path], other[path], strict=True)
            faults.append(path + ": " + "; ".join(f"{part} {a!r} is {b!r}"[:300] for part, a, b in parts if a != b))
    return Report(name, len(set(one) | set(other)), named, faults, answers)


def _reason(path: str, one: Seen, other: Seen) -> str:
    if one._replace(content="") != other._replace(content=""):
        return ""
    texts = [value.decode("utf-8", "replace") if isinstance(value, bytes) else "" for value in (one[-1], other[-1])]
    for pattern, reason, same in DIFFERENCES:
        if re.search(pattern, path) and same(*texts):
            return reason
    return ""


def _answer(ref: str, proof: str) -> str:
    command = ["docker", "run", "--rm", "--network=none", "--env=MINDX_ELASTIC_RECORD=/tmp/record", "--user=0:0"]
    try:
        return " ".join(run([*command, "--entrypoint=sh", ref, "-c", proof]).split())
    except RuntimeError as exc:
        # The file systems are compared all the same.
        return str(exc)


def run(command: list[str], **options: t.Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr}")
    return done.stdout


def lines(report: Report, case: Case) -> t.Iterator[str]:
    """The report as text."""
    verdict = "equal" if not report.faults else f"{len(report.faults)} DIFFERENCES THAT NOTHING EXPLAINS"
    yield f"{report.name}: {report.paths} paths, {verdict}"
    for reason, paths in sorted(report.named.items()):
        yield f"    {len(paths):4d} x {reason}: {', '.join(paths[:2])}{', …' if len(paths) > 2 else ''}"
    yield from (f"    ! {fault}" for fault in report.faults[:SHOWN])
    same = report.answers == (case.says, case.says)
    yield f"    both run: {case.says}" if same else f"    ! they say {report.answers}, not {case.says!r}"


def main() -> int:
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            report = compare(case, Path(folder) / str(number))
            good = good and not report.faults and report.answers == (case.says, case.says)
            print("\n".join(lines(report, case)), flush=True)
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
