"""Values for a key of a stack file, drawn from its schema: what is allowed, what stands at its limits, and what is odd.

Chosen by a random number generator that the caller seeds, so that one number gives one value for ever.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from stacks.patterns import SHAPES
from stacks.schema import EDITORS_FILE

Schema = dict[str, Any]
FILE: Schema = json.loads(EDITORS_FILE.read_text())
SECTIONS: Schema = FILE["properties"]["config"]["properties"]
"""By full key."""
_NESTED: Any = "x"
for _ in range(60):
    _NESTED = [_NESTED]
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, 10**30, -(2**63), 2**64, 1e308, float("inf"), float("nan"), -0.0,
    "", " ", "0", "1", "-1", "1e3", "0x10", "yes", "off", "null", "~", "a", "a b", "A_B", "a" * 5000, "a\nb", "\t",
    "é", "日本", "💥", "\u202eabc", "a\u200bb", "\ufeffa", "\ud800", "\x00", "\x1b[31mred", "\r", "\u2028",
    "../../etc/passwd", "/dev/zero", "$(id)", "${HOME}", "{{ x }}", "%s%n", "[", "{", '{"a": 1}', "1,2", "-", "--",
    "*", "!x", "&a",
    [], {}, [None], [[]], [1, "a"], {"": ""}, {"a": {"b": {}}}, {"1": 2}, {"secure": "v1:x"}, {"secure": 1},
    {"secure": None}, {"kind": "x"}, {"\u202e": 1}, {"\x00": 1}, {"a\nb": 1}, {"\ud800": 1}, _NESTED,
)  # fmt: skip
"""Where each of these stands for what is allowed, most of them have to be refused."""
_TEXTS = ("a", "team-a", "a b", "é", "0", "x" * 63, "--flag", "dynamo")
_OF_PATTERN = {
    r"^[1-9][0-9]*(Gi|Ti)$": ("1Gi", "999999Ti", "500Gi"),
    r"^[A-Za-z_][A-Za-z0-9_]*$": ("A", "_", "NCCL_DEBUG", "HF_TOKEN", "CUDA_VISIBLE_DEVICES"),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": ("a", "0", "team-a", "a" * 45, "default", "1-1"),
    r"^([1-9][0-9]*[hd]|never)$": ("1h", "never", "9999999999d", "14d"),
}
"""More than the one example that the sentence of its refusal gives."""


def resolved(schema: Schema) -> Schema:
    """The schema with what it refers to, and with what it says of an encrypted section left out."""
    found: Schema = {}
    for part in (schema, *schema.get("allOf", ())):
        if "$ref" in part:
            found |= resolved(FILE["$defs"][part["$ref"].rpartition("/")[2]])
    if "if" in schema and "else" in schema:
        is_section = "secure" in schema["if"].get("required", ())
        found |= resolved(schema["else"] if is_section else schema["then"])
    return {
        **found,
        **{key: each for key, each in schema.items() if key not in ("$ref", "if", "then", "else")},
    }


def kinds(schema: Schema) -> dict[str, Schema]:
    """Of a section that is one of several: each by its kind."""
    branches = [each for each in schema.get("allOf", ()) if "if" in each]
    return {each["if"]["properties"]["kind"]["const"]: resolved(each["then"]) for each in branches}


def allowed(schema: Schema, random: Random, depth: int = 0) -> Any:
    """A value that the schema takes, often one at a limit."""
    schema = resolved(schema)
    if branches := [*kinds(schema).values()] or schema.get("anyOf"):
        return allowed(random.choice(branches), random, depth)
    if "enum" in schema or "const" in schema:
        return random.choice(schema.get("enum") or [schema["const"]])
    kind = schema.get("type", "string")
    return _MADE[random.choice(kind) if isinstance(kind, list) else kind](schema, random, depth)


def _number(schema: Schema, random: Random, _depth: int) -> Any:
    step = 1 if schema["type"] != "number" else 0.25
    least = schema.get("minimum", schema.get("exclusiveMinimum", -step) + step)
    most = schema.get("maximum", schema.get("exclusiveMaximum", least + 1000 * step) - step)
    between = min(least + random.randint(0, 8) * step, most)
    return random.choice((least, most, between, between))


def _list(schema: Schema, random: Random, depth: int) -> Any:
    count = random.choice((0, 1, 1, 2)) or schema.get("minItems", 0)
    return [allowed(schema.get("items", {}), random, depth + 1) for _ in range(count)]


def _text(schema: Schema, random: Random, _depth: int = 0) -> str:
    if pattern := schema.get("pattern"):
        example = SHAPES[pattern].example if pattern in SHAPES else "a"
        return random.choice((example, *_OF_PATTERN.get(pattern, ())))[: schema.get("maxLength")]
    return random.choice(_TEXTS)[: schema.get("maxLength")]


def _mapping(schema: Schema, random: Random, depth: int) -> dict[str, Any]:
    known: Schema = schema.get("properties", {})
    chance = random.choice((0.1, 0.3, 0.9 if depth > 1 else 0.4))
    chosen = [key for key in known if key in schema.get("required", ()) or random.random() < chance]
    made = {key: allowed(known[key], random, depth + 1) for key in chosen}
    others = schema.get("additionalProperties") or next(
        iter(schema.get("patternProperties", {}).values()), None
    )
    if isinstance(others, dict):
        for _ in range(max(random.choice((0, 1, 2)), schema.get("minProperties", 0))):
            made[_name(schema, random)] = allowed(others, random, depth + 1)
    return made


def _name(schema: Schema, random: Random) -> str:
    named = schema.get("propertyNames", {})
    if "$ref" in named or "enum" in named:
        return str(random.choice(resolved(named)["enum"]))
    pattern = named.get("pattern") or next(iter(schema.get("patternProperties", {})), "")
    return _text({"pattern": pattern, "maxLength": named.get("maxLength")}, random)


_MADE: dict[str, Callable[[Schema, Random, int], Any]] = {
    "array": _list,
    "boolean": lambda _schema, random, _depth: random.random() < 0.5,
    "integer": _number,
    "null": lambda _schema, _random, _depth: None,
    "number": _number,
    "object": _mapping,
    "string": _text,
}
"""By type."""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything below, mappings and lists included, but for the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key)
        yield from leaves(below, (*path, key))
