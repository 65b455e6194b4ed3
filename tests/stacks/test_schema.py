"""Pulumi.yaml's config schema follows the settings."""

from collections.abc import Iterator

from stacks.schema import PROJECT_FILE, config_schema, project_file
from stacks.settings import Settings
from targets.strict import Strict


def test_the_project_file_is_what_the_settings_say() -> None:
    text = PROJECT_FILE.read_text()
    assert text == project_file(text), "run `python -m stacks.schema`"


def test_every_key_has_a_description() -> None:
    assert all(declared["description"] for declared in config_schema().values())
    assert config_schema().keys() <= {field.alias for field in Settings.model_fields.values()}


def sections(model: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for section in model.__subclasses__():
        yield section
        yield from sections(section)


def test_every_key_without_a_default_says_what_belongs_there() -> None:
    """Its description is in the message that it is missing; that of a cluster's kind lists the kinds instead."""
    required = {
        (section.__name__, name): field.description
        for section in sections()
        for name, field in section.model_fields.items()
        if field.is_required() and name != "kind"
    }
    assert required
    assert [key for key, description in required.items() if not description] == []
