# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder of tests as one step that counts for each of them."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree

from .step import BUILD, Count, Step

from parts import venv  # isort: skip

#: The unit tests without those of what only C(.venv) does: the documentation site is built by its tools.
OF_PLUGINS = "tests/unit --ignore=tests/unit/docs"
NUMBERS = ("tests", "failures", "errors", "skipped")


def step(
    name: str,
    folder: str,
    show: t.Callable[[str], None] = lambda _log: None,
    python: venv.Environment = venv.CONTROLLER,
    tool: str = "pytest",
) -> Step:
    """Runs the tests of a folder, two at once, those of one file in turn.

    :param folder: the folder, or files, with a blank between them.
    :param show: is given the log, for what a reader wants to see of it in any case.
    :param python: the environment that they run in.
    :param tool: the package that the tests are about, where that is not pytest.
    """
    report = BUILD / "logs" / f"{re.sub(r'[ ,]+', '-', name)}.xml"

    def count(_code: int, log: str) -> Count:
        """What pytest reports; a skipped test counts as failed, since a test that does not run proves nothing."""
        show(log)
        if not report.exists():
            return Count(0, 1)
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
        total, *bad = (sum(int(suite.get(number, "0")) for suite in suites) for number in NUMBERS)
        return Count(total - sum(bad), sum(bad))

    command = ["python", "-m", "pytest", "-q", *folder.split(), "-n", "2", "--dist", "loadfile", f"--junitxml={report}"]
    return Step(name, command, count, before=lambda: report.unlink(missing_ok=True), python=python, tool=tool)
