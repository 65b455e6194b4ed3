"""Which resource of one synth is which of another, as an engine would find it in a state."""

from typing import Any

from ops.diff.matching import match_resources

STACK = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"


def resource(types: str, name: str, *aliases: str, parent: str = STACK, stack: str = "dev") -> dict[str, Any]:
    return {
        "urn": f"urn:pulumi:{stack}::p::{types}::{name}",
        "parent": parent,
        "aliases": [f"urn:pulumi:{stack}::p::{alias}" for alias in aliases],
    }


def pairs(base: list[dict[str, Any]], head: list[dict[str, Any]]) -> dict[str, str]:
    """Name and types today → before."""
    found = match_resources({"resources": base}, {"resources": head})
    return {urn.split("::", 2)[2]: was["urn"].split("::", 2)[2] for urn, was in found.items()}


def test_the_same_urn_is_the_same_resource_whatever_the_stack_is_called() -> None:
    base, head = [resource("x:Y", "a", stack="old")], [resource("x:Y", "a", stack="new")]
    assert pairs(base, head) == {"x:Y::a": "x:Y::a"}


def test_another_name_or_type_is_another_resource() -> None:
    assert pairs([resource("x:Y", "a")], [resource("x:Y", "b"), resource("x:Z", "a")]) == {}


def test_an_alias_names_what_it_was() -> None:
    assert pairs([resource("x:Y", "old")], [resource("x:Y", "new", "x:Y::old")]) == {"x:Y::new": "x:Y::old"}


def test_what_is_there_under_its_own_name_is_not_given_to_an_alias() -> None:
    base = [resource("x:Y", "a"), resource("x:Y", "b")]
    head = [resource("x:Y", "a", "x:Y::b"), resource("x:Y", "b")]
    assert pairs(base, head) == {"x:Y::a": "x:Y::a", "x:Y::b": "x:Y::b"}


def test_one_resource_is_no_two() -> None:
    head = [resource("x:Y", "a", "x:Y::old"), resource("x:Y", "b", "x:Y::old")]
    assert pairs([resource("x:Y", "old")], head) == {"x:Y::a": "x:Y::old"}


def test_children_of_a_component_that_has_an_alias_come_along() -> None:
    """They inherit it in the engine, and none says it for itself."""
    old = resource("ours:Old", "cache")
    new = resource("ours:New", "cache", "ours:Old::cache")
    base = [old, resource("ours:Old$k8s:Job", "download", parent=old["urn"])]
    head = [new, resource("ours:New$k8s:Job", "download", parent=new["urn"])]
    assert pairs(base, head) == {
        "ours:New::cache": "ours:Old::cache",
        "ours:New$k8s:Job::download": "ours:Old$k8s:Job::download",
    }


def test_a_stack_that_is_new_has_nothing_before() -> None:
    assert match_resources(None, {"resources": [resource("x:Y", "a")]}) == {}
    assert match_resources({"resources": [resource("x:Y", "a")]}, None) == {}
