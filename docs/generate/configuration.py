"""`python -m docs.generate.configuration`: docs/configuration.md, every key of a stack, written from the settings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stacks.sections.cluster import CLUSTER_KINDS
from stacks.settings import Settings
from targets.strict import Strict

PAGE = Path(__file__).resolve().parents[1] / "configuration.md"
_INTRODUCTION = """\
# Every key of a stack's file

Written by `python -m docs.generate.configuration`; a test holds this file against the settings.

Keys stand below `config` in `Pulumi.<stack>.yaml`, with `dynamo-gpt-oss:` before the first word. Where no default
stands, the value follows from the target, or there is none. What the keys are for stands in
[operations.md](operations.md), [benchmarks.md](benchmarks.md) and [images.md](images.md); those of `graph`, and of an
item of `graphs`, are in [targets.md](targets.md#knobs).
"""
_ELSEWHERE = {"graph", "graphs"}
"""Keys that the page of the targets describes."""


def document() -> str:
    """The whole page."""
    schema = Settings.model_json_schema()
    keys = {key: each for key, each in schema["properties"].items() if key not in _ELSEWHERE}
    sections = {key: each for key, each in keys.items() if list(_below(schema, each)) or key == "cluster"}
    plain = {key: each for key, each in keys.items() if key not in sections}
    parts = [
        _INTRODUCTION,
        "## Keys without others below them\n\n" + _table(_rows(schema, "", plain, schema)),
    ]
    for key, each in sections.items():
        if key == "cluster":
            parts += [_cluster(kind, model) for kind, model in CLUSTER_KINDS.items()]
        else:
            parts.append(f"## `{key}`\n\n{each['description']}\n\n{_table(_all(schema, key, each))}")
    return "\n".join(parts)


def _cluster(kind: str, model: type[Strict]) -> str:
    schema = model.model_json_schema()
    rows = _all(
        schema, "cluster", {"properties": schema["properties"], "required": schema.get("required", [])}
    )
    return f"## `cluster` of kind `{kind}`\n\n{schema['description']}\n\n{_table(rows)}"


def _all(schema: Mapping[str, Any], path: str, each: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The rows of a section, and after them those of the sections below it."""
    for suffix, model in [("", each)] if "properties" in each else _below(schema, each):
        here = path + suffix
        yield from _rows(schema, f"{here}.", model["properties"], model)
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


def _rows(
    schema: Mapping[str, Any], prefix: str, properties: Mapping[str, Any], model: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    for key, each in properties.items():
        required = key in model.get("required", ())
        described = each.get("description", "")
        yield f"`{prefix}{key}`", _words(schema, each), _default(each, required=required), described


def _words(schema: Mapping[str, Any], each: Mapping[str, Any]) -> str:
    """A JSON schema in a few words: type, choices, bounds."""
    if "$ref" in each:
        found = schema["$defs"][each["$ref"].rsplit("/", maxsplit=1)[-1]]
        return "keys below it" if "properties" in found else _words(schema, found)
    if "anyOf" in each:
        return " or ".join(_words(schema, one) for one in each["anyOf"] if one.get("type") != "null")
    if choices := each.get("enum", [each["const"]] if "const" in each else None):
        return ", ".join(f"`{choice}`" for choice in choices)
    if each["type"] == "array":
        return f"list of {_words(schema, each['items'])}"
    if each["type"] == "object":
        return f"map to {' or '.join(dict.fromkeys(_words(schema, one) for one in _values(each)))}"
    kinds = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}
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
    if value in (None, [], {}) or isinstance(value, Mapping):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    head = ("key", "allowed", "default", "meaning")
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n"
        for line in lines
    )


if __name__ == "__main__":
    PAGE.write_text(document())
