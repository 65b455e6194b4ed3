"""A token goes through every verb and every way of ending, and is found in what the cluster is told alone."""

import base64
from pathlib import Path

import pytest

from tests.ops.secrets_by_verb import (
    ELSEWHERE,
    ENDINGS,
    EXIT_CODES,
    MARKER,
    SIGNALS,
    VERBS,
    forms,
    found_in,
    run,
    run_apart,
)
from tests.ops.test_json import verbs


def test_every_verb_has_its_row() -> None:
    rows = {" ".join(verb.split()[:2]) for verb in VERBS if verb.startswith("bench")}
    rows |= {verb.split()[0] for verb in VERBS if not verb.startswith("bench")}
    assert {name for name, _ in verbs()} == rows | {*ELSEWHERE}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("verb", VERBS)
def test_it_is_nowhere_but_in_the_secret(tmp_path: Path, verb: str, ending: str) -> None:
    found, kubectl = run(verb, ending, tmp_path)
    assert found == []
    assert kubectl.has_the_secret() == (verb == "up")


@pytest.mark.parametrize("verb", ["synth", "up"])
@pytest.mark.parametrize("ending", SIGNALS)
def test_a_signal_leaves_it_nowhere(tmp_path: Path, verb: str, ending: str) -> None:
    """Every verb is in the table that the module prints; these tell most of a stack."""
    found, code = run_apart(verb, ending, tmp_path)
    assert found == []
    assert code == EXIT_CODES[ending]


@pytest.mark.parametrize("ending", SIGNALS)
def test_what_was_written_or_said_until_the_signal_is_seen(tmp_path: Path, ending: str) -> None:
    leak = """
from ops import synth
from ops.deploy import apply
def reveal(value):
    print(opened := apply._open(value))
    return opened
synth.mask = reveal
"""
    found, code = run_apart("synth", ending, tmp_path, before=leak)
    assert {each.rpartition("/")[2].partition(":")[0] for each in found} == {"stdout", "resources.json"}
    assert code == EXIT_CODES[ending]


@pytest.mark.parametrize("place", range(3))
def test_what_is_looked_for_is_found_in_any_form(place: int) -> None:
    text = b"a" * place + MARKER.encode() + b" and more"
    assert found_in(base64.b64encode(text).decode())
    assert found_in(base64.urlsafe_b64encode(text).decode())
    assert all(found_in(each) for each in forms(MARKER).values())
    assert found_in("what looks alike: Mark/er+of") == []
