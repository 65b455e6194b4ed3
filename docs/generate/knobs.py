"""The knobs of a graph as tables of docs/targets.md. table: writes one of a head and rows."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from facts.engines import Engine
from targets.engine_knobs import KNOBS, EngineKnobs, Knob
from targets.knobs import (
    AdditionalGraph,
    FrontendKnobs,
    GraphKnobs,
    ImageBuild,
    ImageKnobs,
    KvTransferKnobs,
    RoleKnobs,
)  # fmt: skip

Table = Callable[[tuple[str, ...], Iterable[Iterable[object]]], str]


def keys(table: Table) -> str:
    """The keys of a graph: what they allow, and what they mean."""
    sections: tuple[tuple[str, type[BaseModel]], ...] = (
        ("", GraphKnobs),
        ("frontend.", FrontendKnobs),
        ("<role>.", RoleKnobs),
        ("image.", ImageKnobs),
        ("image.build.", ImageBuild),
        ("kvTransfer.", KvTransferKnobs),
        ("graphs[].", AdditionalGraph),
    )
    rows = [
        (f"`{prefix}{field.alias}`", _allowed(model, field), _default(field), field.description)
        for prefix, model in sections
        for name, field in model.model_fields.items()
        if not isinstance(field.default, BaseModel)
        and (model is not AdditionalGraph or name in model.__annotations__)
    ]
    return table(("key", "allowed", "default", "meaning"), rows)


def flags(table: Table) -> str:
    """What each engine calls each knob; empty where it has no such setting."""

    def called(knob: Knob, engine: Engine) -> str:
        argument = knob.argument(engine)
        names = [] if argument is None else [f"`{argument.spellings[0]}`"]
        if engine is Engine.TRTLLM and knob.engine_file:
            names.append(f"file `{knob.engine_file}`")
        return ", ".join(names)

    return table(
        ("key", *Engine),
        (
            (f"`<role>.{EngineKnobs.model_fields[name].alias}`", *(called(knob, engine) for engine in Engine))
            for name, knob in KNOBS.items()
        ),
    )


def _allowed(model: type[BaseModel], field: FieldInfo) -> str:
    return _words(model.model_json_schema()["properties"][field.alias])


def _words(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words: type, choices, bounds."""
    if "anyOf" in schema:
        return " or ".join(_words(option) for option in schema["anyOf"] if option.get("type") != "null")
    if "$ref" in schema:
        return "the keys below"
    if "enum" in schema:
        return ", ".join(str(choice) for choice in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_words(schema['items'])}"
    if schema.get("type") == "object":
        return "variables"
    kind = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}[
        schema["type"]
    ]
    if "minimum" in schema:
        kind += f", {schema['minimum']} to {schema['maximum']}"
    return kind


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "none: it must be given"
    if field.default in (None, (), {}):
        return ""
    if isinstance(field.default, Mapping):
        return ", ".join(f"{key}={value}" for key, value in field.default.items())
    return ", ".join(field.default) if isinstance(field.default, tuple) else str(field.default)
