"""pydantic's errors about a stack file, as sentences with the key as it is written there."""

import difflib
import re
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from facts.weights import MODEL_ID
from stacks.hidden import HIDDEN, cut, shown, visible
from stacks.patterns import SHAPES
from stacks.sections.cluster import CLUSTER_KINDS
from stacks.settings import SWITCHES
from targets.catalogue import TARGETS

_MODEL_KEYS = {"model", "modelId", "modelName"}
"""What somebody writes who wants another model."""
_MOST_PLACES = 3
_MISPLACED = {"dict_type", "extra_forbidden", "model_attributes_type", "model_type"}
"""pydantic's words for a value under no key, or under one that is not known."""


def sentences(
    invalid: ValidationError, settings: type[BaseModel], project: str, encrypted: Collection[str]
) -> Iterator[str]:
    """One for each error: the key, the value, what is allowed.

    settings: model of the whole stack file. project: whose keys they are. encrypted: sections that hold a secret.
    """
    for error in invalid.errors():
        path = [str(part) for part in error["loc"]]
        misplaced = error["type"] in _MISPLACED
        given = shown(path, error["input"], misplaced=misplaced, encrypted=path[0] in encrypted)
        # Where the key itself is wrong, it is the value that is shown, or hidden.
        place = error["loc"][:-2] if path[-1] == "[key]" and given == HIDDEN else error["loc"]
        key = f"{project}:{_dotted(_without_kind(place))}"
        context = error.get("ctx", {})
        match error["type"]:
            case "extra_forbidden":
                yield f"{key}: unknown key, given {given}{_instead(settings, path)}"
            case "missing":
                yield f"{key}: missing; {_wanted(settings, path)}"
            case "union_tag_not_found":
                yield f"{key}.kind: missing; choose one of {', '.join(CLUSTER_KINDS)}"
            case "union_tag_invalid":
                tag = shown([*path, "kind"], context["tag"], misplaced=False, encrypted=path[0] in encrypted)
                yield f"{key}.kind: {tag} is not allowed; choose one of {', '.join(CLUSTER_KINDS)}"
            case "literal_error":
                yield f"{key}: {given} is not allowed; choose one of {context['expected']}"
            case "model_type" | "model_attributes_type" | "dict_type":
                known = ", ".join(_fields(settings, path))
                off = ", or `off` in its place" if len(path) == 1 and path[0] in SWITCHES else ""
                yield f"{key}: {given} is not an object; write its keys below it{known and f': {known}'}{off}"
            case "tuple_type" | "list_type":
                yield f"{key}: {given} is not a list; write each item with a dash below it"
            case "bool_parsing" | "bool_type":
                yield f"{key}: {given} is not allowed; choose true or false"
            case "string_type" if isinstance(error["input"], int | float):
                yield f"{key}: {given} is not text; {_as_text(settings, path, error['input'])}"
            case _:
                yield f"{key}: {given}: {_why(error)}"


def _instead(settings: type[BaseModel], path: list[str]) -> str:
    """What to write in place of a key that is not known."""
    known = list(_fields(settings, path[:-1]))
    near = difflib.get_close_matches(path[-1], known, n=1)
    if path[-1] in _MODEL_KEYS and not near:
        return f": this program serves {MODEL_ID} alone; `target` says how"
    elsewhere = [] if near else sorted(_places(settings, path[-1]), key=lambda place: place.count("."))
    hint = f" (did you mean {' or '.join([*near, *elsewhere[:_MOST_PLACES]])}?)" if near or elsewhere else ""
    return f"{hint}; known keys: {', '.join(known)}"


def _places(model: type[BaseModel], name: str, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Keys of that name anywhere below a model, as they are written."""
    for key, field in by_alias(model).items():
        if key == name:
            yield ".".join((*path, key))
        below = _model_in(field.annotation)
        if path == () and key == "cluster":
            below = next((each for each in CLUSTER_KINDS.values() if name in by_alias(each)), None)
        if below:
            yield from _places(below, name, (*path, key))


def _as_text(settings: type[BaseModel], path: list[str], number: float) -> str:
    """How to write a number where a text is wanted: in quotes, unless the text has another form."""
    field = _fields(settings, path[:-1]).get(path[-1])
    patterns = [each.pattern for each in field.metadata if getattr(each, "pattern", None)] if field else []
    other = [SHAPES[each] for each in patterns if each in SHAPES and not re.search(each, str(number))]
    return str(other[0]) if other else "write it in quotes"


def _why(error: ErrorDetails) -> str:
    """What is wrong with a value: in the words of its check, in those of its pattern, or in pydantic's."""
    context = error.get("ctx", {})
    if error["type"] == "value_error":
        return visible(str(context["error"]))
    shape = SHAPES.get(context.get("pattern", ""))
    return str(shape) if shape else f"{error['msg'][0].lower()}{error['msg'][1:]}"


def _without_kind(path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """pydantic puts the kind of a cluster between `cluster` and its key; in the stack file nothing is there."""
    return (
        (path[0], *path[2:]) if path[0] == "cluster" and len(path) > 1 and path[1] in CLUSTER_KINDS else path
    )


def _dotted(path: Iterable[int | str]) -> str:
    """The key as Pulumi writes paths: `graphs[0].name`. pydantic marks a mapping's key itself by `[key]`."""
    parts = (part for part in path if part != "[key]")
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{cut(visible(part))}" for part in parts
    ).removeprefix(".")


def _fields(settings: type[BaseModel], path: list[str]) -> dict[str, FieldInfo]:
    """The keys below a path, as they are written."""
    is_in_cluster = path[:1] == ["cluster"] and len(path) > 1
    model, rest = (CLUSTER_KINDS[path[1]], path[2:]) if is_in_cluster else (settings, path)
    fields = by_alias(model)
    for part in rest:
        if part in fields and (below := _model_in(fields[part].annotation)):
            fields = by_alias(below)
    return fields


def by_alias(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the keys that users write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) in (Union, types.UnionType, Annotated, list, tuple, Mapping):
        return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _wanted(settings: type[BaseModel], path: list[str]) -> str:
    """What to write for a key that must be there."""
    if path == ["target"]:
        return f"choose one of {', '.join(TARGETS)}"
    if path == ["cluster"]:
        return f"write its kind below it, one of {', '.join(CLUSTER_KINDS)}"
    return (
        f"it has no default: {(_fields(settings, path[:-1])[path[-1]].description or '').removesuffix('.')}"
    )
