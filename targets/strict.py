"""The base of every settings model: frozen, camelCase in YAML, unknown keys refused."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Strict(BaseModel):
    """A settings section. Instances are frozen; YAML keys are the camelCase of the field names."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )
