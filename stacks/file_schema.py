"""The JSON Schema of stack files, for editors: keys, their documentation, and refusals as one types. Pure.

Made from the settings' own schema. Draft 7, which every YAML plugin knows, ignores what stands beside a `$ref`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

Schema = dict[str, Any]
_SECURE = {
    "type": "object",
    "description": "Encrypted by `pulumi config set --secret --path`.",
    "properties": {"secure": {"type": "string", "description": "The value, encrypted for this stack."}},
    "required": ["secure"],
    "additionalProperties": False,
}
_PULUMI_KEYS = {
    "environment": {"description": "Environments of Pulumi ESC that the stack imports."},
    "secretsprovider": {"type": "string", "description": "What encrypts the stack's secrets."},
    "encryptionsalt": {
        "type": "string",
        "description": "Of the passphrase that encrypts the stack's secrets.",
    },
    "encryptedkey": {
        "type": "string",
        "description": "The key of the stack's secrets, encrypted by its provider.",
    },
}
"""What Pulumi's CLI writes into a stack file beside `config`."""


def file_schema(settings: Mapping[str, Any], *, project: str, switches: Collection[str]) -> Schema:
    """The schema of a whole `Pulumi.<stack>.yaml`.

    settings: pydantic's schema of the settings. switches: sections for which a plain `off` will do.
    """
    keys = {
        f"{project}:{key}": _switch(_plain(each)) if key in switches else _section(_plain(each), settings)
        for key, each in settings["properties"].items()
    }
    cluster = f"{project}:cluster"
    config = {
        "type": "object",
        "description": "What the stack says.",
        "properties": keys,
        # Other projects' and providers' keys are Pulumi's to judge.
        "patternProperties": {f"^(?!{project}:)[^:]+:.+$": {}},
        "additionalProperties": False,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A stack of {project}",
        "description": "Written by `python -m stacks.schema` from the settings.",
        "type": "object",
        "properties": {"config": config, **_PULUMI_KEYS},
        "additionalProperties": False,
        "if": {"required": ["environment"]},
        "else": {"required": ["config"], "properties": {"config": {"required": [cluster]}}},
        "$defs": {name: _plain(each) for name, each in settings["$defs"].items()},
    }


def _plain(schema: Any) -> Any:
    """A part of pydantic's schema as editors and validators of draft 7 take it."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("format") == "password":
        return dict(_SECURE)
    kept = {key: each for key, each in schema.items() if key not in ("title", "default", "properties")}
    made: Schema = {key: each if key in ("enum", "const") else _plain(each) for key, each in kept.items()}
    if "properties" in schema:
        made["properties"] = {key: _plain(each) for key, each in schema["properties"].items()}
    if not isinstance(schema.get("default"), Mapping | list | None):
        made["default"] = schema["default"]
    if "patternProperties" in made:
        made.setdefault("additionalProperties", False)
    if "discriminator" in made:
        return _by_kind(made)
    if "anyOf" in made:
        return _optional(made)
    if "$ref" in made and len(made) > 1:
        made["allOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _optional(schema: Schema) -> Schema:
    """One type or nothing, as a type of its own: the message then says what is wrong with the one."""
    others = [each for each in schema["anyOf"] if each.get("type") != "null"]
    [only, *more] = others
    if len(others) == len(schema["anyOf"]) or more or not isinstance(only.get("type"), str):
        return schema
    rest = {key: each for key, each in schema.items() if key != "anyOf"}
    choices = {"enum": [*only["enum"], None]} if "enum" in only else {}
    return {**only, **rest, **choices, "type": [only["type"], "null"]}


def _by_kind(schema: Schema) -> Schema:
    """A choice by a key as conditions on it: the message is then about the kind that was meant, not about them all."""
    key, kinds = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
    rest = {name: each for name, each in schema.items() if name not in ("discriminator", "oneOf")}
    return {
        **rest,
        "type": "object",
        "properties": {key: {"enum": [*kinds], "description": "What it is."}},
        "required": [key],
        "allOf": [_when(key, kind, reference) for kind, reference in kinds.items()],
    }


def _when(key: str, kind: str, reference: str) -> Schema:
    asked = {"properties": {key: {"const": kind}}, "required": [key]}
    return {"if": asked, "then": {"$ref": reference}}


def _switch(schema: Schema) -> Schema:
    """A section for which a plain `off` will do, which YAML 1.1 reads as false."""
    described = {key: schema[key] for key in ("description",) if key in schema}
    return {**described, "if": {"type": "object"}, "then": schema, "else": {"enum": ["off", False]}}


def _section(schema: Schema, settings: Mapping[str, Any]) -> Schema:
    """A section; one that holds secrets may be encrypted as a whole."""
    models = settings["$defs"]
    names = [str(each["$ref"]).rpartition("/")[2] for each in _references(schema)]
    if not any(_has_secret(models[name]) for name in names):
        return schema
    described = {key: schema[key] for key in ("description",) if key in schema}
    return {
        **described,
        "if": {"type": "object", "required": ["secure"]},
        "then": dict(_SECURE),
        "else": schema,
    }


def _references(schema: Schema) -> Iterable[Schema]:
    return [each for key in ("allOf", "anyOf") for each in schema.get(key, ()) if "$ref" in each]


def _has_secret(model: Any) -> bool:
    """Whether a model has a secret among its own keys."""
    if isinstance(model, Mapping):
        return model.get("format") == "password" or any(map(_has_secret, model.values()))
    return isinstance(model, list) and any(map(_has_secret, model))
