"""The fields of DynamoGraphDeployment by release, as kept in data/fields.yaml, and what of a graph is none of them.

A shape is "string", "integer", "number", "boolean", "int-or-string" or "any"; "string: a, b" for a closed list;
[shape]; {"*": shape} for a map of any keys; {"key": shape} for an object, where a key that ends in "!" is required; or
"$Name" for a shape among the file's definitions. Patterns, limits and rules of the definition are not kept.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from tests.operator.release import Object

FILE = Path(__file__).parent / "data" / "fields.yaml"
_WORTH_A_NAME = 120
"""Characters of JSON from which a shape that occurs twice becomes a definition."""
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
}


def read() -> Object:
    """The kept file: `definitions`, a shape of spec for each API version, and `since`.

    since: release line to the fields that are new in it, like `v1beta1.components[].minAvailable`.
    """
    found: Object = yaml.safe_load(FILE.read_text())
    return found


def kept(definitions: Mapping[str, Object]) -> str:
    """The text of the file from each release line's CustomResourceDefinition, oldest first."""
    lines = list(definitions)
    paths = {line: set(_paths(_specs(definitions[line]))) for line in lines}
    since = {
        line: sorted(one for one in new if one.rpartition(".")[0] not in new)
        for before, line in pairwise(lines)
        if (new := paths[line] - paths[before])
    }
    content = {"since": since, **_with_definitions(_specs(definitions[lines[-1]]))}
    return str(yaml.safe_dump(content, default_flow_style=None, width=118, sort_keys=True))


def faults(graph: Object, line: str, known: Object) -> list[str]:
    """Every field of the graph's spec that the release line's operator does not know, lacks, or wants otherwise."""
    version = graph["apiVersion"].partition("/")[2]
    newer = {
        path for since, paths in known["since"].items() if _number(since) > _number(line) for path in paths
    }
    return list(_Check(known["definitions"], newer).faults(graph["spec"], known[version], "spec", version))


@dataclass(frozen=True)
class _Check:
    definitions: Object
    newer: set[str]

    def faults(self, value: Any, shape: Any, path: str, field: str) -> Iterator[str]:
        """path: where the value stands in the graph; field: the same without names and indexes, as in `newer`."""
        if field in self.newer:
            yield f"{path}: no such field yet"
        elif isinstance(shape, str) and shape.startswith("$"):
            yield from self.faults(value, self.definitions[shape[1:]], path, field)
        elif isinstance(shape, list):
            if not isinstance(value, list):
                yield f"{path}: {value!r} is no list"
                return
            for index, item in enumerate(value):
                yield from self.faults(item, shape[0], f"{path}[{index}]", f"{field}[]")
        elif isinstance(shape, dict):
            yield from self._object_faults(value, shape, path, field)
        elif shape != "any":
            kind, _, choices = shape.partition(": ")
            if not isinstance(value, _PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean"):
                yield f"{path}: {value!r} is no {kind}"
            elif choices and value not in choices.split(", "):
                yield f"{path}: {value!r} is none of {choices}"

    def _object_faults(self, value: Any, shape: Object, path: str, field: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path}: {value!r} is no object"
            return
        shapes = {key.removesuffix("!"): inner for key, inner in shape.items()}
        yield from (
            f"{path}.{key[:-1]}: required" for key in shape if key[-1] == "!" and key[:-1] not in value
        )
        for key, inner in value.items():
            if key in shapes:
                yield from self.faults(inner, shapes[key], f"{path}.{key}", f"{field}.{key}")
            elif "*" in shapes:
                yield from self.faults(inner, shapes["*"], f"{path}.{key}", f"{field}.*")
            else:
                yield f"{path}.{key}: no such field"


def _number(line: str) -> list[int]:
    return [int(part) for part in line.split(".")]


def _specs(definition: Object) -> Object:
    return {
        version["name"]: _shape(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
        for version in definition["spec"]["versions"]
    }


def _paths(shape: Any, path: str = "") -> Iterator[str]:
    if isinstance(shape, list):
        yield from _paths(shape[0], f"{path}[]")
    elif isinstance(shape, dict):
        for key, inner in shape.items():
            here = f"{path}.{key.removesuffix('!')}".removeprefix(".")
            yield here
            yield from _paths(inner, here)


def _with_definitions(specs: Object) -> Object:
    names = _names(specs)
    definitions = {name: _named(json.loads(text), names, own=True) for text, name in names.items()}
    return {"definitions": definitions, **{version: _named(shape, names) for version, shape in specs.items()}}


def _shape(schema: Object) -> Any:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    if "properties" in schema:
        required = schema.get("required", ())
        return {
            f"{key}{'!' * (key in required)}": _shape(inner) for key, inner in schema["properties"].items()
        }
    if "items" in schema:
        return [_shape(schema["items"])]
    if isinstance(schema.get("additionalProperties"), dict):
        return {"*": _shape(schema["additionalProperties"])}
    if schema.get("type") in _PYTHON:
        return f"{schema['type']}: {', '.join(schema['enum'])}" if "enum" in schema else schema["type"]
    return (
        {}
        if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields")
        else "any"
    )


def _walk(shape: Any, name: str) -> Iterator[tuple[str, str]]:
    """(JSON, name) of every object in the shape that is worth a name of its own."""
    if isinstance(shape, list):
        yield from _walk(shape[0], name.removesuffix("s"))
    elif isinstance(shape, dict):
        text = json.dumps(shape, sort_keys=True)
        if len(text) >= _WORTH_A_NAME and "*" not in shape:
            yield text, name
        for key, inner in shape.items():
            yield from _walk(inner, key.removesuffix("!"))


def _names(specs: Object) -> dict[str, str]:
    """Name by JSON of each shape that occurs more than once; called after where it stands first."""
    found = [pair for _, shape in sorted(specs.items()) for pair in _walk(shape, "spec")]
    often = {text for text, count in Counter(text for text, _ in found).items() if count > 1}
    names: dict[str, str] = {}
    for text, name in sorted(set(found), key=lambda pair: (pair[1], pair[0])):
        if text in often and text not in names:
            taken = set(names.values())
            title = name[0].upper() + name[1:]
            names[text] = next(
                candidate
                for n in range(1, 99)
                if (candidate := title + (str(n) if n > 1 else "")) not in taken
            )
    return names


def _named(shape: Any, names: dict[str, str], *, own: bool = False) -> Any:
    """The shape with definitions in the place of what has a name; own: but not the outermost."""
    if isinstance(shape, list):
        return [_named(shape[0], names)]
    if isinstance(shape, dict):
        name = names.get(json.dumps(shape, sort_keys=True))
        if name and not own:
            return f"${name}"
        return {key: _named(inner, names) for key, inner in shape.items()}
    return shape
