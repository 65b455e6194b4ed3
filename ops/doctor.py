"""`doctor`: what would keep a stack from coming up, looked at without changing or paying anything."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import typer

from components.aws.session import session as aws_session
from components.cluster import api_reach
from embedded.paths import PROJECT
from embedded.processes import Report
from ops import options
from ops.aws.own import Own, find_own
from ops.checks import account, capacity, cluster, machine, quotas
from ops.checks import reach as reaching
from ops.checks.finding import Check, Finding, Verdict, ok, run_checks, unknown, wrong
from ops.evaluate import evaluate
from ops.kubectl import KubectlError, NoKubectlError, RefusedError
from ops.pulumi import automation
from ops.stack.cluster import RealCluster, reach
from ops.stack.stack import Stack, find
from stacks.plan import StackPlan
from stacks.pools import PoolPlan
from stacks.sections.cluster import AwsCluster, NewEksClusterSettings
from targets.errors import UserError

CODES = {Verdict.OK: 0, Verdict.WRONG: 1, Verdict.UNKNOWN: 3}
"""Exit code of `ops doctor`: that of the worst line, `wrong` before `cannot tell`. 2 is a wrong command line."""
_WORST = (Verdict.WRONG, Verdict.UNKNOWN, Verdict.OK)


class DoctorError(UserError):
    """The stack would not come up; a line for each thing that is wrong."""


def doctor(
    stack: options.Stack,
    json_: options.Json = False,
) -> None:
    """Look at what the stack needs; costs nothing. Ends with 0 (ok), 1 (wrong) or 3 (could not look at everything)."""
    found = []
    asked = find(stack)
    for finding in examine(asked, automation.state(PROJECT, stack)):
        if not json_:
            typer.echo(finding)
        found.append(finding)
    verdicts = {finding.verdict for finding in found}
    worst = next(verdict for verdict in _WORST if verdict in {*verdicts, Verdict.OK})
    if json_:
        findings = [asdict(finding) for finding in found]
        typer.echo(json.dumps({"stack": stack, "verdict": worst, "findings": findings}, indent=1))
    raise typer.Exit(CODES[worst])


def check(stack: Stack, state: automation.State, report: Report) -> None:
    """The same before an `up`: says what it finds, and raises DoctorError for what is wrong. state: of the stack."""
    found = []
    for finding in examine(stack, state):
        report(str(finding))
        found.append(finding)
    if problems := [f"{each.about}: {each.text}" for each in found if each.verdict is Verdict.WRONG]:
        raise DoctorError("\n".join(problems))


def check_account(plan: StackPlan, resources: Iterable[Mapping[str, Any]]) -> None:
    """Raise DoctorError where the caller's account is not that of a deployed stack. resources: of its state.

    In another account AWS says of everything that it is not there, and Pulumi would forget what goes on costing money.
    """
    cluster = plan.cluster
    if not isinstance(cluster, AwsCluster):
        return
    line, _ = account.caller(aws_session(cluster.region, cluster.aws), cluster.aws)
    own = line.text.split()[1] if line.verdict is Verdict.OK else None
    arns = (str((each.get("outputs") or {}).get("arn", "")).split(":") for each in resources)
    foreign = {arn[4] for arn in arns if len(arn) > 5 and arn[4].isdigit()} - {own}
    if line.verdict is Verdict.WRONG:
        raise DoctorError(f"{line.about}: {line.text}")
    if own is not None and foreign:
        raise DoctorError(
            f"credentials: the stack is in account {', '.join(sorted(foreign))}, and these are of account {own}; use "
            "those of the stack's account (cluster.aws, AWS_PROFILE)"
        )


def check_region(plan: StackPlan, resources: Iterable[Mapping[str, Any]]) -> None:
    """Raise DoctorError where the stack file names another region than a deployed stack's. resources: of its state.

    Pulumi destroys where the state says; what is left of it would be looked for elsewhere.
    """
    cluster, deployed = plan.cluster, find_own(resources).region
    if isinstance(cluster, AwsCluster) and deployed not in (None, cluster.region):
        raise DoctorError(
            f"cluster.region: {cluster.region}, but the stack is in {deployed}; set it to {deployed} again "
            "to take the stack down"
        )


def examine(stack: Stack, state: automation.State) -> Iterator[Finding]:
    """Every finding, as it comes. state: of the stack; it is looked at where a Pulumi CLI is."""
    plan = stack.plan
    if stack.embedded:
        yield ok("cluster", "the embedded one: nothing of it is paid for, and `up` makes what it needs")
        return
    yield from machine.pulumi_cli(PROJECT, stack.full_name)
    if isinstance(plan.cluster, AwsCluster):
        yield from _on_aws(plan, plan.cluster, stack.name, state)
    else:
        yield from _on_a_cluster(stack)
    yield from run_checks(
        [Check("Hugging Face token", lambda: machine.hugging_face(plan))], None, account.ERRORS
    )
    yield from machine.price(plan)


def _on_aws(plan: StackPlan, cluster: AwsCluster, stack: str, state: automation.State) -> Iterator[Finding]:
    from stacks import before_up  # noqa: PLC0415  no other stack loads pulumi_aws

    missing = list(before_up.problems(plan, datetime.now(UTC).date()))
    yield from (wrong("stack file", problem) for problem in missing)
    if not missing:
        yield ok("stack file", "says all that a deployment asks for")
    yield from machine.aws_cli()
    session = aws_session(cluster.region, cluster.aws)
    line, reason = account.caller(session, cluster.aws)
    yield line
    if reason is None:
        line, reason = account.region(session, cluster.region)
        yield line
    else:
        yield unknown("region", f"not looked at: {reason}")
    mine = _own(cluster, state)
    yield from run_checks(_aws_checks(plan, cluster, (stack, mine), session), reason, account.ERRORS)


def _aws_checks(
    plan: StackPlan, cluster: AwsCluster, who: tuple[str, Own], session: object
) -> Iterator[Check]:
    """who: the stack's name, and what is its own."""
    region = cluster.region
    zones = tuple(dict.fromkeys((*cluster.zone_names, *plan.pool_zones)))
    pools = plan.pools
    own = cluster if isinstance(cluster, NewEksClusterSettings) and cluster.vpc is None else None
    named = (
        None
        if own is None
        else {*own.zones, *(zone for each in pools if each.zones_named for zone in each.zones)}
    )
    yield Check("zones", partial(account.zones, session, region, zones, named))
    for each in pools:
        if each.pool.instance.gpus:
            yield Check(each.pool.key, partial(_capacity, session, region, each, own_network=own is not None))
    yield Check("vCPU quotas", partial(quotas.vcpus, session, plan, region, *who))
    if isinstance(cluster, NewEksClusterSettings):
        if cluster.vpc is None:
            yield Check("network quotas", partial(quotas.network, session, region, who[1]))
        yield Check("API server", partial(reaching.new_cluster, cluster, api_reach.own_address))
    else:
        yield Check("API server", partial(reaching.existing_cluster, session, cluster))


def _own(cluster: AwsCluster, state: automation.State) -> Own:
    """The own things of a stack; none of one that is not there, or whose state cannot be read."""
    if not automation.available():
        return Own()
    try:
        found = find_own(state.resources)
    except UserError:
        return Own()
    return found if isinstance(cluster, NewEksClusterSettings) else replace(found, cluster=cluster.name)


def _capacity(session: object, region: str, pool: PoolPlan, *, own_network: bool) -> Iterator[Finding]:
    named = pool.zones_named or not own_network
    zones = pool.zones if named else account.choose_zones(session, region, pool.zones).values()
    return capacity.capacity(session, region, pool, zones)


def _on_a_cluster(stack: Stack) -> Iterator[Finding]:
    try:
        with reach(stack) as reached:
            assert isinstance(reached, RealCluster), "the embedded one needs no look"
            kubectl = reached.kubectl.impatient()
            try:
                yield from cluster.answer(kubectl)
            except RefusedError as error:
                yield wrong("cluster", str(error))
                return
            except KubectlError as error:
                yield wrong("cluster", f"it does not answer: {error}; correct cluster.kubeconfig or context")
                return
            evaluation = partial(evaluate, PROJECT, stack.file)
            checks = cluster.checks(stack.plan, evaluation, kubectl)
            yield from run_checks(checks, None, (KubectlError,))
    except NoKubectlError:
        yield unknown("cluster", "not looked at: kubectl is not on PATH; install it")
    except UserError as error:
        yield unknown("cluster", f"not looked at: {error}")
