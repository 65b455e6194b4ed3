"""`python -m stacks.schema`: write what stacks may say into Pulumi.yaml for Pulumi and into schema.json for editors."""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stacks.file_schema import file_schema
from stacks.settings import PROJECT, SWITCHES, Settings

EDITORS_FILE = Path(__file__).resolve().with_name("schema.json")
PROJECT_FILE = Path(__file__).resolve().parent.parent / "Pulumi.yaml"
DEFAULT_TARGET = "trtllm-disagg-b200"


def config_schema() -> dict[str, Any]:
    """Pulumi.yaml's `config`: type, description and default of each key.

    Left out are optional numbers, since Pulumi demands a value for whatever it finds declared without a default, and
    `verify`, which may be an object or plainly `off`, while Pulumi knows one type a key.
    """
    return {
        str(field.alias): declared
        for field in Settings.model_fields.values()
        if (declared := _declare(str(field.alias), field))
    }


def editors_file() -> str:
    """The JSON Schema of stack files."""
    schema = file_schema(Settings.model_json_schema(), project=PROJECT, switches=SWITCHES)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def project_file(text: str) -> str:
    """The project file with its `config` made from the settings; everything before it stays."""
    head, _, _ = text.partition("\nconfig:\n")
    return f"{head.rstrip()}\nconfig:\n{_indent(config_schema())}"


def _declare(key: str, field: FieldInfo) -> dict[str, Any] | None:
    described = {"description": field.description}
    if key == "target":
        return {"type": "string", **described, "default": DEFAULT_TARGET}
    if field.is_required():
        return {"type": "object", **described}
    if field.default == ():
        return {"type": "array", "items": {"type": "object"}, **described, "default": []}
    if isinstance(field.default, (BaseModel, dict)) and key not in SWITCHES:
        return {"type": "object", **described, "default": {}}
    return None


def _indent(schema: dict[str, Any]) -> str:
    text = yaml.safe_dump(schema, sort_keys=False, width=110, allow_unicode=True)
    return "".join(f"  {line}\n" for line in text.splitlines())


if __name__ == "__main__":
    PROJECT_FILE.write_text(project_file(PROJECT_FILE.read_text()))
    EDITORS_FILE.write_text(editors_file())
