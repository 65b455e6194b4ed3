"""Command lines and environments as containers have them."""

import pytest

from facts.engines import Role
from facts.releases import Version
from facts.weights import MODEL_ID, MODEL_REVISION, Weights
from manifests.command import Command, disaggregation_mode, flags, model_to_load, parsers, variables


def test_a_flag_is_bare_absent_or_has_its_value() -> None:
    pairs = [("--a", None), ("--b", True), ("--c", False), ("--d", 0), ("--e", "x y"), ("--f", 0.5)]
    assert flags(pairs) == ["--b", "--d", "0", "--e", "x y", "--f", "0.5"]


def test_the_order_of_an_environment_is_no_change() -> None:
    """Kubernetes lists are ordered: another order would replace pods."""
    assert variables({"B": "1", "A": "2"}) == variables({"A": "2", "B": "1"})
    assert variables({"B": "1", "A": "2"})[0] == {"name": "A", "value": "2"}


def test_a_module_is_run_by_the_images_python() -> None:
    assert Command(module="dynamo.vllm", args=("--a",)).argv == ["python3", "-m", "dynamo.vllm"]


def test_a_pinned_commit_is_loaded_from_its_folder_and_main_by_its_name() -> None:
    """Offline nothing turns a branch into a commit; Hugging Face's cache remembers which commit `main` was."""
    pinned = model_to_load(Weights(model=MODEL_ID, revision=MODEL_REVISION))
    assert pinned == f"/opt/models/hub/models--openai--gpt-oss-120b/snapshots/{MODEL_REVISION}"
    assert model_to_load(Weights(model="a/b", revision="main")) == "a/b"


@pytest.mark.parametrize(
    ("role", "mode"), [(Role.PREFILL, "prefill"), (Role.DECODE, "decode"), (Role.WORKER, None)]
)
def test_only_workers_of_one_phase_say_which(role: Role, mode: str | None) -> None:
    assert disaggregation_mode(role) == mode


def test_releases_that_know_no_parsers_are_given_none() -> None:
    assert parsers(Version(0, 4, 1)) == []
    assert dict(parsers(Version(1, 0))) == {
        "--dyn-reasoning-parser": "gpt_oss",
        "--dyn-tool-call-parser": "harmony",
    }
