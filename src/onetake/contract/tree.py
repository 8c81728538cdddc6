"""A schema as a tree: every subschema with its path, and where every `$ref` leads. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin

from onetake import jsonpath
from onetake.contract.words import Role, Schema, Steps, check_words, children
from onetake.errors import UsageError
from onetake.settings_values import nearest

_METASCHEMAS = ("http://json-schema.org/", "https://json-schema.org/")
_REFS = ("$ref", "$dynamicRef")


@dataclass(frozen=True, slots=True)
class Node:
    """One subschema: where it lies, where it applies (below a test all is test) and what its references count from."""

    schema: Schema
    path: Steps
    role: Role
    base: str


class SchemaTree:
    """The subschemas of one schema document.

    Args:
        root: The document, in 2020-12's words.
        words: False where unknown words of every kind are let pass.
        formats: False where unknown formats are let pass.

    Raises:
        UsageError: A keyword, type or format is unknown, or a `$ref` leads nowhere, out of the document, or in a circle
            without an end.
    """

    def __init__(self, root: Schema, *, words: bool = True, formats: bool = True) -> None:
        self.root = root
        self.nodes: dict[int, Node] = {}
        self._resources: dict[str, Schema] = {}
        self._enter(Node(root, (), Role.PLACE, ""))
        for node in self.nodes.values():
            if words:
                check_words(node.schema, node.path, formats=formats)
            self.targets(node.schema)

    def _enter(self, node: Node) -> None:
        base = urljoin(node.base, str(node.schema.get("$id", ""))).rstrip("#")
        self.nodes[id(node.schema)] = Node(node.schema, node.path, node.role, base)
        if base != node.base or not node.path:
            self._resources[base] = node.schema
        for word in ("$anchor", "$dynamicAnchor"):
            if word in node.schema:
                self._resources[f"{base}#{node.schema[word]}"] = node.schema
        for child in children(node.schema):
            if isinstance(child.schema, dict):
                role = Role.TEST if node.role is Role.TEST else child.role
                self._enter(Node(child.schema, (*node.path, *child.steps), role, base))

    def targets(self, schema: Schema) -> list[Schema]:
        """Return the schemas that a schema's own references lead to; those of the metaschemas are left out."""
        found = [self._resolve(self.nodes[id(schema)], word) for word in _REFS if word in schema]
        return [target for target in found if target is not None]

    def _resolve(self, node: Node, word: str) -> Schema | None:
        ref = str(node.schema[word])
        uri = node.base + ref if ref.startswith("#") else urljoin(node.base, ref)
        if uri.startswith(_METASCHEMAS):
            return None
        document, _, fragment = uri.partition("#")
        where = f"{word} {ref!r} at {jsonpath.show(node.path)}"
        if document not in self._resources:
            raise UsageError(f"{where} leads out of the schema, and nothing is fetched: put its target under $defs")
        if fragment and not fragment.startswith("/"):
            target: Any = self._resources.get(uri)
        else:
            target = _pointed(self._resources[document], unquote(fragment))
        if isinstance(target, dict) and id(target) in self.nodes:
            return target
        if isinstance(target, bool):
            return None
        known = [f"#/{held}/{name}" for held in ("$defs", "definitions") for name in self.root.get(held, {})]
        raise UsageError(f"{where} leads to no schema{nearest(ref, known, 'targets lie under $defs')}")

    def follow(self, evaluation_path: Sequence[str | int]) -> Schema | None:
        """Return the schema at the end of a validator's path through keywords and references.

        None where it leads through a metaschema or ends at no schema.
        """
        at: Any = self.root
        for step in evaluation_path:
            if step in _REFS and isinstance(at, dict) and id(at) in self.nodes:
                at = self._resolve(self.nodes[id(at)], str(step))
            else:
                at = _stepped(at, step)
        return at if isinstance(at, dict) and id(at) in self.nodes else None


def _pointed(document: Schema, pointer: str) -> Any:
    at: Any = document
    for step in pointer.split("/")[1:]:
        at = _stepped(at, step.replace("~1", "/").replace("~0", "~"))
    return at


def _stepped(at: Any, step: str | int) -> Any:
    if isinstance(at, dict):
        return at.get(str(step))
    if isinstance(at, list) and str(step).isdigit() and int(step) < len(at):
        return at[int(step)]
    return None
