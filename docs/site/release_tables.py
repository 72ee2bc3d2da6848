# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of releases, strategies, products and versions, from the collection's own tables and from its plan.

`release_tables.py` writes it to docs/releases.md, where it can be read without a site; a test tells when it is old.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility import (
    CANN_TORCH_NPU,
    MINDSPEED_LLM_PAIRS,
    TORCH_PYTHON,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCTS, Product
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import (
    DEFAULT_RELEASE,
    RELEASES,
    Release,
    is_before,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import MINDSPEED_LLM

Rows = t.Iterable[t.Sequence[str]]

PAGE = Path(__file__).resolve().parents[1] / "releases.md"

# What the plan of each release is shown for.
SHOWN: dict[str, t.Any] = {
    "strategies": ["retry", "recover", "dump"],
    "product": "atlas-800t-a2",
    "torch_version": "2.6.0",
}

_HEAD = """# Releases, strategies, products

Made from the tables that the collection itself decides by, so that this page and a run cannot disagree. What a run does
with a request of yours: `ansible localhost -m mindcluster.recovery.recovery_plan -a strategies=retry,recover`.
"""


def page() -> str:
    """The page, in Markdown."""
    return "\n".join(
        [
            _HEAD,
            _section("MindCluster releases", _releases(), _sources([(row.name, row.source) for row in RELEASES])),
            _section("Strategies", _strategies(), _sources([(row.name, row.source) for row in STRATEGIES])),
            _section("What the plan of each release asks for", _plans(), _plan_note()),
            _section("Products and node labels", _products(), ""),
            _section("MindSpeed-LLM", _suites(), _sources([(name, row.source) for name, row in MINDSPEED_LLM.items()])),
            _section("Versions that belong together", _pairs(), ""),
        ]
    )


def _section(title: str, body: str, after: str) -> str:
    return f"## {title}\n\n{body}" + (f"\n{after}" if after else "")


def _table(head: t.Sequence[str], rows: Rows) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [head, *rows]]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines) + "\n"


def _sources(rows: t.Iterable[tuple[str, str]]) -> str:
    return "Sources:\n\n" + "\n".join(f"- {name}: {source}" for name, source in rows) + "\n"


def _code(values: t.Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values) or "none"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _per_release(facts: t.Mapping[str, t.Callable[[Release], str]]) -> str:
    head = ["", *(f"**{row.name}**" + (" (default)" if row.name == DEFAULT_RELEASE else "") for row in RELEASES)]
    return _table(head, [[what, *(fact(row) for row in RELEASES)] for what, fact in facts.items()])


def _releases() -> str:
    return _per_release(
        {
            "Wheels for PyTorch": lambda row: _code(row.wheels["pytorch"]),
            "Wheels for MindSpore": lambda row: _code(row.wheels["mindspore"]),
            "`torch/distributed/run.py` imports": lambda row: f"`{row.run_py_import}`",
            "`torch/distributed/rendezvous.py`": _rendezvous,
            "Label `fault-scheduling`": lambda row: f"`{row.fault_scheduling}`",
            "The operator sets the environment": lambda row: _yes(row.operator_injects),
            "`--max_restarts`": lambda row: f"`{row.max_restarts}`",
            "`--monitor_interval`": lambda row: f"`{row.monitor_interval}`" if row.monitor_interval else "not set",
            "TaskD's port": lambda row: str(row.taskd_port or "none"),
            "Nodes carry product labels": lambda row: _yes(row.product_labels),
            "torch that the vendor names": lambda row: ", ".join(row.torch_listed),
            "torch for online recovery": lambda row: ", ".join(row.retry_torch) or "not said",
            "CANN": lambda row: "%d.%d" % row.cann if row.cann else "not said",
            "Most replicas of one type": lambda row: str(row.most_replicas),
        }
    )


def _rendezvous(row: Release) -> str:
    return (
        "left alone: TaskD does it at run time" if row.rendezvous_at_run_time else "patched for torch 2.6.0 and newer"
    )


def _strategies() -> str:
    head = [
        "strategy",
        "what it is",
        *(row.name for row in RELEASES),
        "flags of MindSpeed-LLM",
        "`MS_ENABLE_TFT`",
        "frameworks",
    ]
    return _table(
        head,
        [
            [
                f"`{row.name}`",
                row.meaning,
                *("no" if is_before(release.name, row.since) else "yes" for release in RELEASES),
                _code(row.mindspeed_args),
                _code(row.tft),
                ", ".join(row.frameworks),
            ]
            for row in STRATEGIES
        ],
    )


def _plans() -> str:
    plans = {row.name: build_plan({**SHOWN, "release": row.name}) for row in RELEASES}

    def of(fact: t.Callable[[dict[str, t.Any]], str]) -> t.Callable[[Release], str]:
        return lambda row: fact(plans[row.name])

    return _per_release(
        {
            "job: labels": of(lambda plan: _pairs_of(plan["job"]["labels"])),
            "job: annotations": of(lambda plan: _pairs_of(plan["job"]["annotations"])),
            "container: environment": of(lambda plan: _code(entry["name"] for entry in plan["job"]["env"])),
            "start command: flags": of(lambda plan: _code(plan["job"]["args"])),
            "start command: exports": of(lambda plan: _pairs_of(plan["job"]["exports"])),
            "start script: torchrun": of(lambda plan: _pairs_of(plan["script"]["torchrun_args"])),
            "start script: exports": of(lambda plan: _pairs_of(plan["script"]["exports"])),
            "node selector": of(lambda plan: _pairs_of(plan["job"]["node_selector"])),
            "labels of NPU nodes": of(lambda plan: _pairs_of(plan["node_labels"]["worker"])),
            "labels of management nodes": of(lambda plan: _pairs_of(plan["node_labels"]["master"])),
        }
    )


def _plan_note() -> str:
    return (
        f"Shown for the strategies {_code(SHOWN['strategies'])}, torch {SHOWN['torch_version']} and the product "
        f"`{SHOWN['product']}`.\n"
    )


def _pairs_of(pairs: t.Mapping[str, t.Any]) -> str:
    return "<br>".join(f"`{name}={value}`" for name, value in pairs.items()) or "none"


def _products() -> str:
    head = [
        "`npu_node_product`",
        "vendor's name",
        "`accelerator-type`",
        "`accelerator`",
        "`host-arch`",
        "resource",
        "NPUs",
    ]
    head += ["`schedule_policy`", "further labels", "online recovery repairs"]
    return _table(head, [_product(row) for row in PRODUCTS])


def _product(row: Product) -> list[str]:
    arches = {"aarch64": "huawei-arm", "x86_64": "huawei-x86"}
    repaired = [word for word, does in (("memory", row.repairs_memory), ("network", row.repairs_network)) if does]
    return [
        f"`{row.name}`",
        row.source,
        f"`{row.accelerator_type}`" if row.accelerator_type else "none",
        f"`{row.accelerator}`",
        _code(arches[arch] for arch in row.archs),
        f"`{row.resource}`",
        str(row.npus or "varies"),
        f"`{row.schedule_policy}`" if row.schedule_policy else "none",
        _pairs_of(row.extra),
        ", ".join(repaired) or "nothing",
    ]


def _suites() -> str:
    rows = []
    for name, row in MINDSPEED_LLM.items():
        pair = MINDSPEED_LLM_PAIRS.get(name)
        with_ = f"torch {', '.join(pair.torch)}; CANN {pair.cann}" if pair else "not said"
        rows.append([name, _code(sorted(row.flags)), _code(row.forbidden), _yes(row.reads_environment), with_])
    return _table(
        ["version", "recovery flags it knows", "refuses beside them", "reads `HIGH_AVAILABILITY`", "released with"],
        rows,
    )


def _pairs() -> str:
    cann = _table(["CANN", "torch_npu"], [[name, ", ".join(found)] for name, found in CANN_TORCH_NPU.items()])
    python = _table(
        ["torch", "Python"],
        [[_range(row.torch_from, row.torch_to), _range(row.oldest, row.newest)] for row in TORCH_PYTHON],
    )
    return f"{cann}\n{python}\nSource: torch_npu's README.\n"


def _range(first: tuple[int, int], last: tuple[int, int]) -> str:
    return "%d.%d to %d.%d" % (*first, *last)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
