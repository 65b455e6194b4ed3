"""Pulumi.yaml's config schema follows the settings."""

from stacks.schema import PROJECT_FILE, config_schema, project_file
from stacks.settings import Settings


def test_the_project_file_is_what_the_settings_say() -> None:
    text = PROJECT_FILE.read_text()
    assert text == project_file(text), "run `python -m stacks.schema`"


def test_every_key_has_a_description() -> None:
    assert all(declared["description"] for declared in config_schema().values())
    assert config_schema().keys() <= {field.alias for field in Settings.model_fields.values()}
