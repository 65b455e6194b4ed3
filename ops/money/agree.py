"""Ask before money is spent or data deleted; who is asked is the person at the terminal, or `--yes`."""

import sys
from collections.abc import Iterator, Sequence

import typer

from embedded.paths import PROJECT
from ops.money.bill import end, how_to_price, price, uses
from ops.money.loss import Loss, data_of
from ops.money.new_nodes import NewNodes, new_nodes
from ops.progress import tell
from ops.pulumi import automation
from ops.stack.stack import Stack
from stacks.cost import cost_per_hour
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from targets.errors import UserError


class NotAgreedError(UserError):
    """Nobody agreed to what the verb would have done; nothing was done."""


def agree_to_spend(stack: Stack, *, yes: bool) -> None:
    """Say what the GPU nodes cost that an `up` would newly pay, and ask; nothing is said or asked where there are none.

    yes: agreed beforehand. Raises NotAgreedError, and what reading the stack's state raises.
    """
    if stack.embedded or not isinstance(stack.plan.cluster, AwsCluster) or not automation.available():
        return
    resources = automation.state(PROJECT, stack.full_name).resources
    if not (new := new_nodes(stack.plan, resources)):
        return
    for line in spending(stack.plan, stack.name, new):
        tell(line)
    if yes:
        return
    makes = " and ".join(str(each) for each in new)
    if not _is_somebody_there():
        raise NotAgreedError(
            f"--yes: {stack.name} would make {makes}, which cost money, and there is no terminal to ask; say --yes "
            "(with make: ARGS=--yes)"
        )
    if not typer.confirm("Spend it?", err=True):
        raise NotAgreedError(f"--stack: {stack.name} was not deployed, and nothing was made")


def spending(plan: StackPlan, stack: str, new: Sequence[NewNodes]) -> Iterator[str]:
    """What the nodes cost with all that is beside them, what they buy, and when that ends."""
    priced = cost_per_hour(plan)
    assert priced is not None, "only a stack on AWS makes nodes"
    yield f"{stack} newly makes {' and '.join(str(each) for each in new)}."
    yield f"  price  {price(priced)}"
    yield f"         {priced.basis}"
    if any(each.pool.capacity.kind.prepaid for each in new):
        yield "         what is reserved is paid whether nodes run in it or not"
    if sentence := how_to_price(priced, plan):
        yield "\n".join(f"         {line}" for line in sentence.splitlines())
    for use in uses(plan):
        yield f"  buys   {use}"
    yield f"  end    {end(plan, stack, priced)}"


def agree_to_delete(stack: Stack, *, yes: bool) -> None:
    """Say which data a `down` deletes, and ask where somebody is at the terminal.

    Elsewhere it goes on: a teardown in CI that stopped would leave GPU nodes running, which costs more than to
    download weights again. yes: agreed beforehand. Raises NotAgreedError, and what reading the state raises.
    """
    if stack.embedded or not automation.available():
        return
    loss = data_of(automation.state(PROJECT, stack.full_name).resources)
    for line in deleting(loss, stack.name):
        tell(line)
    if loss.gone and not yes and _is_somebody_there() and not typer.confirm("Delete it?", err=True):
        raise NotAgreedError(f"--stack: {stack.name} stays as it is, and nothing was deleted")


def deleting(loss: Loss, stack: str) -> Iterator[str]:
    """What goes and what stays, a line each; nothing for a stack without data."""
    if loss.gone:
        yield f"down of {stack} deletes"
        yield from (f"  {line}" for line in loss.gone)
    if loss.kept:
        yield f"down of {stack} keeps (cache.retain)"
        yield from (f"  {line}" for line in loss.kept)


def _is_somebody_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
