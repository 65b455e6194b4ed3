"""The program run on mocks: what is recorded is what an engine would get."""

import asyncio
import gc
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS

from ops.evaluate import UNKNOWN, Recorder, Resource, Secret, dependency_order, event_loop, run
from ops.synth import mask

TYPE = "test:index:Thing"


class Thing(pulumi.CustomResource):
    """A resource that takes and gives anything."""

    out: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None, **inputs: object) -> None:
        super().__init__(TYPE, name, {"out": None, **inputs}, opts)


class Group(pulumi.ComponentResource):
    """A component with a thing in it."""

    def __init__(self, name: str, old: str | None = None) -> None:
        aliases = [pulumi.Alias(name=old)] if old else []
        super().__init__("test:index:Group", name, None, pulumi.ResourceOptions(aliases=aliases))
        self.thing = Thing(f"{name}-thing", pulumi.ResourceOptions(parent=self))


def recorded(program: object, *, preview: bool = True) -> dict[str, Resource]:
    recorder = Recorder()
    run(program, recorder, project="p", stack="s", preview=preview)  # type: ignore[arg-type]
    return {each.name: each for each in recorder.recorded}


def test_values_are_as_an_engine_gets_them() -> None:
    found = recorded(lambda: Thing("a", whole=3, part=1.5, yes=True, many=[1, {"b": 2}]))["a"].inputs
    assert {key: found[key] for key in ("whole", "part", "yes", "many")} == {
        "whole": 3,
        "part": 1.5,
        "yes": True,
        "many": [1, {"b": 2}],
    }
    assert isinstance(found["whole"], int)


def test_a_secret_stays_one_and_no_text_of_the_record_has_it() -> None:
    inputs = recorded(lambda: Thing("a", token=pulumi.Output.secret("hf_1"), plain="x"))["a"].inputs
    assert inputs["token"] == Secret("hf_1")
    assert "hf_1" not in repr(inputs)
    assert mask(inputs)["token"] == "[secret]"


def test_what_only_a_deployment_knows_is_unknown_and_tells_where_it_comes_from() -> None:
    def program() -> None:
        first = Thing("first")
        Thing("second", of=first.out, beside="x")

    found = recorded(program)
    assert found["second"].inputs["of"] == UNKNOWN
    assert found["second"].property_dependencies == {"of": (found["first"].urn,)}
    assert found["second"].dependencies == (found["first"].urn,)


def test_urns_are_the_engines_with_the_types_of_all_ancestors() -> None:
    found = recorded(lambda: Group("g"))
    assert found["g"].urn == "urn:pulumi:s::p::test:index:Group::g"
    assert found["g-thing"].urn == f"urn:pulumi:s::p::test:index:Group${TYPE}::g-thing"
    assert found["g-thing"].parent == found["g"].urn
    assert recorded(lambda: Group("g", old="was"))["g"].aliases == ("urn:pulumi:s::p::test:index:Group::was",)


def test_options_that_change_what_an_engine_does_are_kept() -> None:
    timeouts = pulumi.CustomTimeouts(create="5m")
    options = pulumi.ResourceOptions(
        protect=True,
        retain_on_delete=True,
        ignore_changes=["a"],
        replace_on_changes=["b"],
        custom_timeouts=timeouts,
    )
    thing = recorded(lambda: Thing("a", options))["a"]
    assert thing.protect
    assert thing.replace_on_changes == ("b",)
    assert thing.options == {
        "retainOnDelete": True,
        "ignoreChanges": ["a"],
        "customTimeouts": {"create": "5m"},
    }
    assert not recorded(lambda: Thing("a"))["a"].options


def test_outputs_are_returned_and_forgotten() -> None:
    assert run(lambda: pulumi.export("a", 1), Recorder(), project="p", stack="s", preview=True) == {"a": 1}
    assert run(lambda: None, Recorder(), project="p", stack="s", preview=True) == {}


def test_a_program_that_failed_leaves_nothing_behind() -> None:
    def fails() -> None:
        pulumi.export("a", 1)
        Thing("half")
        raise pulumi.RunError("no")

    with pytest.raises(pulumi.RunError, match="no"):
        recorded(fails)
    recorder = Recorder()
    assert run(lambda: Thing("b") and None, recorder, project="p", stack="s", preview=True) == {}
    assert [each.name for each in recorder.recorded] == ["b"]


def test_what_waited_for_a_refused_resource_does_not_tell_it_again(caplog: pytest.LogCaptureFixture) -> None:
    class Refuses(Recorder):
        def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
            if request.name == "first":
                raise pulumi.RunError("no")
            return super().RegisterResource(request)

    with pytest.raises(pulumi.RunError, match="no"):
        run(
            lambda: Thing("second", of=Thing("first").out) and None, Refuses(),
            project="p", stack="s", preview=False,
        )  # fmt: skip
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_outputs_that_are_left_unfinished_are_not_waited_for() -> None:
    with event_loop():
        pulumi.Output.from_input(asyncio.sleep(3600, 0))  # type: ignore[arg-type]
        assert SETTINGS.outputs
    assert not SETTINGS.outputs
    assert list(recorded(lambda: Thing("b"))) == ["b"]


def test_the_order_is_by_need_and_then_the_same_every_time() -> None:
    def program() -> None:
        last = Thing("a")
        Thing("z", pulumi.ResourceOptions(depends_on=[last]))
        Thing("m")

    found = recorded(program)
    forwards = [each.name for each in dependency_order(found.values())]
    assert forwards == [each.name for each in dependency_order(reversed(found.values()))] == ["a", "m", "z"]
