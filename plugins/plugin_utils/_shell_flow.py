# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What is run before what in a shell script, as far as it can be told without running it."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Source, is_step

if t.TYPE_CHECKING:
    from tree_sitter import Node

Wanted = t.Callable[["Node"], bool]

# What is assigned in these stays in them.
_ISOLATED = frozenset(("subshell", "command_substitution", "process_substitution", "pipeline"))
_LOOPS = frozenset(("while_statement", "for_statement", "c_style_for_statement"))
_CLAUSES = ("elif_clause", "else_clause")
_DEPTH = 8


class Flow:
    """The order of execution in one script.

    :param framework: a condition that names it (C([ "$framework" == "PyTorch" ])) is taken to hold where it launches.
    """

    def __init__(self, source: Source, framework: str) -> None:
        self.source = source
        self.guard = framework.lower().encode()
        self.functions = source.functions()

    def assured(self, wanted: Wanted, target: Node, guards: bool = False) -> bool:
        """Whether on every way to the target a wanted node has been run before it, in the same shell.

        :param guards: take conditions that name the framework as true.
        """
        return self._assured(wanted, target, guards, frozenset())

    def reaches(self, node: Node, target: Node) -> bool:
        """Whether what a node assigns can be seen by the target."""
        return self._reaches(node, target, frozenset())

    # Backwards from the target

    def _assured(self, wanted: Wanted, target: Node, guards: bool, seen: frozenset[int]) -> bool:
        node = target
        while node.parent is not None:
            if any(self._definite(before, wanted, guards, 0, True) for before in _run_before(node)):
                return True
            if node.parent.type == "function_definition":
                calls = self._calls_of(node.parent)
                if node.parent.id in seen:
                    return True
                if calls:
                    inner = seen | {node.parent.id}
                    return all(self._assured(wanted, call, guards, inner) for call in calls)
            node = node.parent
        return False

    def _definite(self, node: Node, wanted: Wanted, guards: bool, depth: int, same_frame: bool) -> bool:
        """Whether running this statement surely runs a wanted node, or never comes back."""
        if wanted(node):
            return True
        if depth > _DEPTH * 4:
            return False

        def inner(child: Node) -> bool:
            return self._definite(child, wanted, guards, depth + 1, same_frame)

        kind = node.type
        if kind in ("declaration_command", "variable_assignments", "compound_statement", "unset_command"):
            return any(inner(child) for child in node.named_children)
        if kind in ("redirected_statement", "negated_command", "list"):
            return bool(node.named_children) and inner(node.named_children[0])
        if kind == "command":
            return self._definite_command(node, wanted, guards, depth, same_frame)
        if kind == "if_statement":
            return self._definite_if(node, inner, guards)
        if kind == "case_statement":
            items = [child for child in node.named_children if child.type == "case_item"]
            return any(_is_default(self.source, item) for item in items) and all(
                any(inner(step) for step in _steps(item)) for item in items
            )
        return False

    def _definite_command(self, node: Node, wanted: Wanted, guards: bool, depth: int, same_frame: bool) -> bool:
        name = self.source.command_name(node)
        if name == b"exit" or (name == b"return" and same_frame):
            return True
        function = self.functions.get(name)
        body = function.child_by_field_name("body") if function is not None else None
        return body is not None and self._definite(body, wanted, guards, depth + _DEPTH, False)

    def _definite_if(self, node: Node, inner: Wanted, guards: bool) -> bool:
        conditions = node.children_by_field_name("condition")
        if any(inner(condition) for condition in conditions[:1]):
            return True
        then_runs = any(inner(step) for step in _steps(node))
        if then_runs and guards and any(self.guard in self.source.slice(part).lower() for part in conditions):
            return True
        clauses = [child for child in node.named_children if child.type in _CLAUSES]
        complete = any(clause.type == "else_clause" for clause in clauses)
        return complete and then_runs and all(any(inner(step) for step in _steps(clause)) for clause in clauses)

    # Forwards from the node

    def _reaches(self, node: Node, target: Node, seen: frozenset[tuple[int, int]]) -> bool:
        key = (node.id, target.id)
        if key in seen:
            return False
        seen = seen | {key}
        around_target = {item.id for item in _ancestors(target)}
        common = next((item for item in _ancestors(node) if item.id in around_target), None)
        if common is None or self._isolated(node, common) or common.type == "pipeline":
            return False
        theirs, mine = _outermost_function(target, common), _innermost_function(node, common)
        if theirs is None and mine is None:
            return _in_order(node, target, common)
        calls_of_theirs = self._calls_of(theirs) if theirs is not None else []
        if any(self._reaches(node, call, seen) for call in calls_of_theirs):
            return True
        if mine is not None:
            return any(self._reaches(call, target, seen) for call in self._calls_of(mine))
        return not calls_of_theirs

    def _isolated(self, node: Node, common: Node) -> bool:
        """Whether what the node assigns is lost before the common ancestor, or its function, is left."""
        for ancestor in _ancestors(node):
            if ancestor.id == common.id or ancestor.type == "function_definition":
                return False
            if ancestor.type in _ISOLATED:
                return True
        return False

    def _calls_of(self, function: Node) -> list[Node]:
        """Calls of a function, those in its own body left out."""
        name = function.child_by_field_name("name")
        if name is None:
            return []
        calls = self.source.calls(self.source.slice(name))
        return [call for call in calls if not function.start_byte <= call.start_byte < function.end_byte]


def _ancestors(node: Node) -> list[Node]:
    found = []
    above = node.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def _functions_between(node: Node, common: Node) -> list[Node]:
    """Function definitions around a node and below the common ancestor, innermost first."""
    found = []
    for ancestor in _ancestors(node):
        if ancestor.id == common.id:
            break
        if ancestor.type == "function_definition":
            found.append(ancestor)
    return found


def _outermost_function(node: Node, common: Node) -> Node | None:
    return next(iter(reversed(_functions_between(node, common))), None)


def _innermost_function(node: Node, common: Node) -> Node | None:
    return next(iter(_functions_between(node, common)), None)


def _in_order(node: Node, target: Node, common: Node) -> bool:
    """Whether the node can be run before the target, both in one run of the same code."""
    if any(item.type in _LOOPS for item in [common, *_ancestors(common)]):
        return True
    return node.start_byte < target.start_byte and not _exclusive(common, node, target)


def _branch(common: Node, start: int) -> int:
    """Number of the branch of an C(if) or C(case) that an offset lies in; 0 for its condition."""
    if common.type == "case_statement":
        items = [child for child in common.named_children if child.type == "case_item"]
        return next((n for n, item in enumerate(items, 1) if item.start_byte <= start < item.end_byte), 0)
    clauses = [child for child in common.named_children if child.type in _CLAUSES]
    for number, clause in enumerate(clauses, 2):
        if clause.start_byte <= start < clause.end_byte:
            return number
    return 1 if any(step.start_byte <= start < step.end_byte for step in _steps(common)) else 0


def _exclusive(common: Node, node: Node, target: Node) -> bool:
    """Whether two nodes lie in different branches of their common C(if) or C(case)."""
    if common.type not in ("if_statement", "case_statement"):
        return False
    mine, other = _branch(common, node.start_byte), _branch(common, target.start_byte)
    return mine != other and 0 not in (mine, other)


def _steps(node: Node) -> list[Node]:
    return [child for child in node.named_children if is_step(child)]


def _run_before(node: Node) -> list[Node]:
    """Siblings that have been run when the node is run."""
    parent = node.parent
    if parent is None:
        return []
    before = [child for child in parent.named_children if child.start_byte < node.start_byte]
    if parent.type in ("if_statement", "elif_clause"):
        # Conditions are run before every branch, steps only before later steps of their own branch.
        same_branch = is_step(node)
        return [child for child in before if child.type not in _CLAUSES and (same_branch or not is_step(child))]
    if parent.type == "list":
        return before[:1]
    if parent.type == "while_statement":
        return [child for child in before if child.type != "do_group"]
    return [child for child in before if is_step(child)]


def _is_default(source: Source, item: Node) -> bool:
    return any(source.slice(value) == b"*" for value in item.children_by_field_name("value"))
