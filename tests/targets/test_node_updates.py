"""When a node group gets new nodes, and for how long its graphs are silent."""

import pytest

from targets.assumptions import Assumptions
from targets.node_updates import needs_new_nodes, refusal, silence
from targets.timeline import Setting


@pytest.mark.parametrize(
    ("changed", "new"),
    [
        (["launchTemplate.version"], True),
        (["version"], True),
        (["releaseVersion", "tags.owner"], True),
        (["scalingConfig.desiredSize", "labels.team", "updateConfig"], False),
        (["versions"], False),
        ([], False),
    ],
)
def test_only_what_a_node_has_for_life_takes_another_node(changed: list[str], new: bool) -> None:
    assert needs_new_nodes(changed) is new


def test_nodes_one_after_the_other_take_as_many_rounds_and_one_load() -> None:
    """Weights are loaded once, by the graph that comes up on the last of them."""
    round_ = Assumptions().gpu_boot + Assumptions().pull
    setting = Setting(gpus=8)
    one = silence(1, setting, at_once=False)
    assert silence(3, setting, at_once=False) - one == pytest.approx(2 * round_)
    assert silence(3, setting, at_once=True) == silence(1, setting, at_once=True) == one
    assert one > round_


def test_a_block_without_spare_nodes_is_emptied_first() -> None:
    text = refusal("pools[0]", 2)
    assert "pools[0]: the change needs new nodes, but 2 run in a Capacity Block" in text
    assert text.index("pools[0].active to false") < text.index("then set it to true")
