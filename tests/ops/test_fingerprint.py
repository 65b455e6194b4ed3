"""What stands for secrets: nothing without a key, and with one no more than whether two are the same."""

import pytest

from ops.fingerprint import KEY_VARIABLE, PLAIN, placeholder


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "ab" * 32)


def test_without_a_key_all_secrets_look_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert placeholder("hf_1") == placeholder("hf_2") == PLAIN


@pytest.mark.usefixtures("key")
def test_with_a_key_equal_secrets_are_equal_and_others_are_not() -> None:
    assert placeholder("hf_1") == placeholder("hf_1") != placeholder("hf_2")
    assert placeholder({"a": 1, "b": 2}) == placeholder({"b": 2, "a": 1})
    assert placeholder("1") != placeholder(1)


@pytest.mark.usefixtures("key")
def test_another_diff_cannot_tell_whether_it_saw_the_secret_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a table of guesses would find short ones."""
    before = placeholder("hf_1")
    monkeypatch.setenv(KEY_VARIABLE, "cd" * 32)
    assert placeholder("hf_1") != before
    assert "hf_1" not in before
