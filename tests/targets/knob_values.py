"""A value that each knob takes, read off what it allows."""

from typing import Any

from targets.engine_knobs import EngineKnobs


def least(name: str) -> Any:
    """The least number, the first choice, or false."""
    schema = EngineKnobs.model_json_schema(by_alias=False)["properties"][name]["anyOf"][0]
    return schema["minimum"] if "minimum" in schema else schema.get("enum", [False])[0]
