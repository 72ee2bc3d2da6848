# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An image's file tree as its layers make it."""

from __future__ import annotations

from layer_files import HARD, LINK, tree_of

RUN = "usr/lib/python3/dist-packages/torch/distributed/run.py"


def test_newer_layers_hide_older_ones() -> None:
    tree = tree_of(
        {"usr/bin/old": "", "usr/bin/both": "old", "opt/app/bin/x": "", "opt/app/bin/y": "", "srv/bin/kept": ""},
        {"usr/bin/.wh.old": "", "usr/bin/both": "new", "opt/app/bin/.wh..wh..opq": "", "opt/app/bin/z": ""},
        {".wh.srv": ""},
    )
    assert tree.children("/usr/bin") == ["both"]
    assert tree.children("/opt/app/bin") == ["z"]
    assert not tree.is_file("/opt/app/bin/x")
    assert tree.children("/srv/bin") == []
    assert tree.children("/") == ["opt", "usr"]
    assert not tree.is_file("/srv/bin/kept")


def test_a_path_that_comes_again_after_it_was_taken_away() -> None:
    tree = tree_of({"opt/bin/a": "", "opt/bin/b": ""}, {".wh.opt": "", "opt/bin/c": ""}, {"opt/bin/d": ""})
    assert tree.children("/opt/bin") == ["c", "d"]
    assert not tree.is_file("/opt/bin/a")


def test_a_link_in_place_of_a_folder_hides_it() -> None:
    tree = tree_of({"opt/bin/a": "", "srv/bin/b": ""}, {".wh.opt": "", "opt": LINK + "srv"})
    assert tree.children("/opt/bin") == ["b"]
    assert tree.real("/opt/bin/b") == "/srv/bin/b"
    assert not tree.is_file("/opt/bin/a")


def test_links_are_followed_below_the_root_and_never_in_circles() -> None:
    tree = tree_of(
        {
            "bin": LINK + "usr/bin",
            "usr/bin/python3": LINK + "/etc/alternatives/python3",
            "etc/alternatives/python3": LINK + "../../../../../usr/bin/python3.11",
            "usr/bin/python3.11": "x",
            "loop/a": LINK + "b",
            "loop/b": LINK + "../loop/a",
            "loop/self": LINK + "self/self",
            "loop/outside": LINK + "/../../../etc/shadow",
        }
    )
    assert tree.real("/bin/python3") == "/usr/bin/python3.11"
    assert tree.real("/loop/a") is None
    assert tree.real("/loop/self/x") is None
    assert tree.real("/loop/outside") is None
    assert tree.children("/loop/a") == []
    assert tree.content("/loop/b") is None


def test_contents_come_from_the_newest_layer_and_through_hard_links() -> None:
    store = "var/store/run.py"
    tree = tree_of({store: "old", RUN: HARD + store}, {"usr/bin/x": ""})
    assert tree.content("/" + RUN) == b"old"
    newer = tree_of({store: "old", RUN: HARD + store}, {RUN: "new"})
    assert newer.content("/" + RUN) == b"new"
    assert newer.content("/" + RUN + "x") is None


def test_layers_below_the_answer_are_not_read() -> None:
    tree = tree_of({RUN: "old"}, {RUN: "new"})
    asked = []
    load = tree._load
    tree._load = lambda number: asked.append(number) or load(number)  # type: ignore[func-returns-value]
    assert tree.content("/" + RUN) == b"new"
    assert asked == [0]


def test_a_folder_is_not_confused_with_names_that_start_like_it() -> None:
    tree = tree_of({"a/bin/x": "", "a-b/bin/y": "", "a.b/bin/z": "", "a0/bin/w": ""})
    assert tree.children("/") == ["a", "a-b", "a.b", "a0"]


def test_sources_that_no_index_keeps_are_read_from_their_layers() -> None:
    site = "opt/lib/python3.11/site-packages/"
    tree = tree_of(
        {site + "pkg/deep/inside/a.py": "old", site + "pkg/deep/inside/b.py": "b", site + "other/deep/in/x.py": ""},
        {site + "pkg/deep/inside/a.py": "new", site + "pkg/deep/inside/.wh.b.py": ""},
    )
    assert tree.sources_below(["/" + site + "pkg"], (".py",)) == {"/" + site + "pkg/deep/inside/a.py": b"new"}
