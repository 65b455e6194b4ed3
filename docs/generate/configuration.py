"""`python -m docs.generate.configuration`: docs/configuration.md, every key of a stack, written from the settings."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from facts.engines import Role
from stacks.patterns import SHAPES
from stacks.sections.cluster import CLUSTER_KINDS
from stacks.settings import Settings
from targets.knobs import AdditionalGraph
from targets.strict import Strict

PAGE = Path(__file__).resolve().parents[1] / "configuration.md"
ADDITIONAL = {
    field.alias
    for name, field in AdditionalGraph.model_fields.items()
    if name in AdditionalGraph.__annotations__
}
"""Keys that a further graph has and the main one has not."""
_EXAMPLES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8")
)
_ALLOWED: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("allowed.yaml").read_text(encoding="utf-8")
)
_INTRODUCTION = """\
# Every key of a stack's file

Written by `python -m docs.generate.configuration`; a test holds this file against the settings.

A key stands below `config` in `Pulumi.<stack>.yaml`, with `dynamo-gpt-oss:` before its first word: `pool.nodes: 2` is
`dynamo-gpt-oss:pool: { nodes: 2 }`. An empty default means that the target decides, or that nothing is set. A test
holds every example against what is allowed.

[Operations](operations.md), [benchmarks](benchmarks.md) and [images](images.md) explain what the keys are for.
"""
_GRAPH = """\
## `graph`

The main graph. `<role>` stands for `prefill` and `decode` of a disaggregated target, and for `worker` of an aggregated
one. [What each engine calls a role's keys](targets.md#what-engines-call-a-roles-knobs) is a table of its own.
"""
_GRAPHS = """\
## `graphs`

A list of graphs beside the main one. Each takes all keys of [`graph`](#graph) too.
"""


class Row(NamedTuple):
    """One key. schema: JSON schema of its value. example: a value; None for a key that only holds others."""

    key: str
    schema: Mapping[str, Any]
    required: bool
    example: Any

    @property
    def cells(self) -> tuple[str, ...]:
        """Key, allowed, default, example, meaning."""
        return (
            f"`{self.key}`",
            _ALLOWED["keys"].get(self.key) or _words(self.schema),
            _default(self.schema, required=self.required),
            "" if self.example is None else f"`{_flow(self.example)}`",
            self.schema.get("description", ""),
        )


def document() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for head, rows in _sections():
        parts.append(f"{head}\n{_table(rows)}")
    return "\n".join(parts)


def rows() -> Iterator[Row]:
    """Every key of the page."""
    for _, each in _sections():
        yield from each


def _sections() -> Iterator[tuple[str, list[Row]]]:
    schema = Settings.model_json_schema()
    keys = dict(schema["properties"])
    graph, own = schema["$defs"]["GraphKnobs"], schema["$defs"]["AdditionalGraph"]
    del keys["graph"], keys["graphs"]
    sections = {key: each for key, each in keys.items() if list(_below(schema, each)) or key == "cluster"}
    plain = {key: each for key, each in keys.items() if key not in sections}
    yield (
        "## Keys without others below them\n",
        list(_rows(schema, "", {"properties": plain, **_required(schema)})),
    )
    of_roles = {key: each for key, each in graph["properties"].items() if key not in {*Role}}
    a_role = {"<role>": graph["properties"][Role.PREFILL]}
    yield _GRAPH, list(_all(schema, "graph", {"properties": of_roles | a_role}))
    only = {key: each for key, each in own["properties"].items() if key in ADDITIONAL}
    yield _GRAPHS, list(_all(schema, "graphs[]", {"properties": only, **_required(own)}))
    for key, each in sections.items():
        if key == "cluster":
            yield from (_cluster(kind, model) for kind, model in CLUSTER_KINDS.items())
        else:
            yield f"## `{key}`\n\n{each['description']}\n", list(_all(schema, key, each))


def _cluster(kind: str, model: type[Strict]) -> tuple[str, list[Row]]:
    schema = model.model_json_schema()
    each = {"properties": schema["properties"], **_required(schema)}
    return f"## `cluster` of kind `{kind}`\n\n{schema['description']}\n", list(_all(schema, "cluster", each))


def _required(model: Mapping[str, Any]) -> dict[str, Any]:
    return {"required": model.get("required", [])}


def _all(schema: Mapping[str, Any], path: str, each: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a section, and after them those of the sections below it."""
    for suffix, model in [("", each)] if "properties" in each else _below(schema, each):
        here = path + suffix
        yield from _rows(schema, f"{here}.", model)
        for key, inner in model["properties"].items():
            if list(_below(schema, inner)):
                yield from _all(schema, f"{here}.{key}", inner)


def _below(schema: Mapping[str, Any], each: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects that a key holds, with what stands between the key and theirs: `[]` of a list, `.NAME` of a map."""
    if "$ref" in each:
        found = schema["$defs"][each["$ref"].rsplit("/", maxsplit=1)[-1]]
        if "properties" in found:
            yield "", found
    for option in each.get("anyOf", ()):
        yield from _below(schema, option)
    if "items" in each:
        yield from (("[]" + suffix, found) for suffix, found in _below(schema, each["items"]))
    for inner in _values(each):
        yield from ((".NAME" + suffix, found) for suffix, found in _below(schema, inner))


def _values(each: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a map holds, whatever its keys look like."""
    inner = [*each.get("patternProperties", {}).values(), each.get("additionalProperties")]
    return [schema for schema in inner if isinstance(schema, Mapping)]


def _rows(schema: Mapping[str, Any], prefix: str, model: Mapping[str, Any]) -> Iterator[Row]:
    for name, each in model["properties"].items():
        key = prefix + name
        if key == "graph.<role>":
            continue
        below = [inner for _, inner in _below(schema, each)]
        meant = {"description": below[0]["description"]} if below else {}
        whole = {**meant, **each, "$defs": schema.get("$defs", {})}
        example = None if below else _example(key, whole)
        yield Row(key, whole, name in model.get("required", ()), example)


def _example(key: str, each: Mapping[str, Any]) -> Any:
    """The one that was written for it, or a choice that is not the default, or the default."""
    for known in (key, key.replace("pools[].", "pool.", 1)):
        if known in _EXAMPLES:
            return _EXAMPLES[known]
    default = each.get("default")
    choices = [choice for choice in _choices(each) if choice != default]
    return choices[0] if choices else default


def _choices(each: Mapping[str, Any]) -> list[Any]:
    """The values of a key that has only a few."""
    if "$ref" in each:
        return _choices(each["$defs"][each["$ref"].rsplit("/", maxsplit=1)[-1]])
    if each.get("type") == "boolean":
        return [True, False]
    found = [each["const"]] if "const" in each else list(each.get("enum", ()))
    for option in each.get("anyOf", ()):
        found += _choices({**option, "$defs": each.get("$defs", {})})
    return found


def _flow(value: Any) -> str:
    """A value as one line of YAML."""
    return (
        str(yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True))
        .removesuffix("...\n")
        .strip()
    )


def _words(each: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> str:
    """A JSON schema in a few words: type, choices, bounds."""
    known = each.get("$defs", {}) if definitions is None else definitions
    if "$ref" in each:
        found = known[each["$ref"].rsplit("/", maxsplit=1)[-1]]
        return "keys below it" if "properties" in found else _words(found, known)
    if "anyOf" in each:
        return " or ".join(_words(one, known) for one in each["anyOf"] if one.get("type") != "null")
    if choices := each.get("enum", [each["const"]] if "const" in each else None):
        return ", ".join(f"`{choice}`" for choice in choices)
    if each["type"] == "array":
        return f"list of {_words(each['items'], known)}"
    if each["type"] == "object":
        return f"map to {' or '.join(dict.fromkeys(_words(one, known) for one in _values(each)))}"
    text = SHAPES[each["pattern"]].words if "pattern" in each else "text"
    kinds = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": text}
    return kinds[each["type"]] + _bounds(each)


def _bounds(each: Mapping[str, Any]) -> str:
    least, most, above = each.get("minimum"), each.get("maximum"), each.get("exclusiveMinimum")
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", {least} or more"
    return "" if above is None else f" above {above}"


def _default(each: Mapping[str, Any], *, required: bool) -> str:
    if required:
        return "none: it must be given"
    value = each.get("default")
    if value in (None, [], {}) or (isinstance(value, Mapping) and "$ref" in each):
        return ""
    return str(value).lower() if isinstance(value, bool) else _flow(value)


def _table(rows: Iterable[Row]) -> str:
    head = ("key", "allowed", "default", "example", "meaning")
    lines = [head, tuple("---" for _ in head), *(row.cells for row in rows)]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n"
        for line in lines
    )


if __name__ == "__main__":
    PAGE.write_text(document())
