"""`python -m docs.generate.tables`: the tables of written pages that state facts of the code, between their marks."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import yaml

from docs.generate import rollouts
from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.kubernetes_support import STANDARD_SUPPORT_ENDS
from facts.prices import PRICES, REGION
from facts.releases import DEFAULT, LATEST_PATCH, RELEASE_COSTS, Version, graph_api_version
from facts.versions import (
    DRA_DRIVER,
    EFA_DEVICE_PLUGIN,
    EMBEDDED_KUBERNETES,
    EXTERNAL_SECRETS,
    GPU_OPERATOR,
    KEDA,
    KUBE_PROMETHEUS_STACK,
    KUBERNETES,
)
from targets.catalogue import TARGETS
from targets.pool import nodes_for, usual_instance
from targets.target import Target

DOCS = Path(__file__).resolve().parents[1]
PROJECT = DOCS.parent
MADE_FOR = {
    "vllm-disagg-h100": "prefill and decode apart on Hopper, with vLLM",
    "sglang-disagg-h100": "prefill and decode apart on Hopper, with SGLang",
    "trtllm-disagg-b200": "long prompts on one Blackwell node; the usual beginning",
    "trtllm-disagg-b200-0.4": "comparison with the first guide; no parsed reasoning, no tool calls",
    "trtllm-agg-gb200": "short prompts, long answers, very many users at once",
    "trtllm-disagg-8k": "prompts of about 8,000 tokens, very many users at once",
    "vllm-agg-agentic-b200": "agents on Blackwell: prompts that share long prefixes",
    "vllm-agg-agentic-h200": "agents on H200: prompts that share long prefixes",
    "vllm-disagg-agentic-b200": "the same, disaggregated; its source measured the aggregated one faster",
    "vllm-disagg-agentic-h200": "the same, disaggregated; its source measured the aggregated one faster",
    "mocker-disagg-cpu": "a test of everything but the model, without a GPU; answers are random tokens",
}
"""What each target is for, by its source's traffic."""

MEASURED = {
    "vllm-agg-agentic-b200": (512, 2896, 58, 4.4),
    "vllm-disagg-agentic-b200": (256, 2069, 99, 5.6),
    "vllm-agg-agentic-h200": (256, 1256, 47.5, 1.4),
    "vllm-disagg-agentic-h200": (256, 1046, 43, 4.4),
}
"""What a target's source measured: requests at once, output tokens a second of a GPU and of a user, mean seconds to
the first token. Source: README of Dynamo's recipes for gpt-oss-120b, measured on 2026-07-09 on 8 GPUs."""


def targets() -> str:
    """Every target: what it is for, what it runs on, what that costs, and its published load."""
    return table(
        (
            "target",
            "choose it for",
            "form",
            "nodes",
            "USD/h of the nodes",
            "GPUs used",
            "published load",
            "stacks",
        ),
        (_target(target) for target in TARGETS.values()),
    )


def _target(target: Target) -> Iterator[str]:
    instance = usual_instance(target)
    nodes, load = nodes_for(target, instance), target.benchmark
    smallest = min(instance.nodes_per_ultraserver, default=nodes)
    yield f"[`{target.name}`](targets.md#{anchor(target.name)})"
    yield MADE_FOR[target.name]
    yield f"{target.engine}, {'disaggregated' if target.disaggregated else 'aggregated'}"
    yield f"{smallest} × {instance.name}"
    yield _usd(instance.name, smallest)
    used = sum(worker.replicas * worker.gpus for worker in target.workers)
    yield f"{used} of {smallest * instance.gpus} {instance.gpu}" if instance.gpu else "none"
    yield f"{load.isl:,} in, {load.osl:,} out, {load.concurrency:,} at once"
    yield ", ".join(f"`{stack}`" for stack in _stacks(target.name))


def _stacks(target: str) -> Iterator[str]:
    for path in sorted(PROJECT.glob("Pulumi.*.yaml")):
        if yaml.safe_load(path.read_text())["config"]["dynamo-gpt-oss:target"] == target:
            yield path.name.split(".")[1]


def _usd(unit: str, count: int) -> str:
    price = PRICES[unit]
    return "no list price: say yours in `prices`" if price is None else f"{price.usd * count:,.2f}"


def measured() -> str:
    """Every target with GPUs: what its source measured, or that it published nothing, and what the nodes cost."""
    return table(
        (
            "GPUs",
            "target",
            "USD/h",
            "at once",
            "tokens/s of a GPU",
            "tokens/s of a user",
            "to the first token",
        ),
        (_measured(target) for target in TARGETS.values() if target.gpu_models),
    )


def _measured(target: Target) -> tuple[str, ...]:
    instance = usual_instance(target)
    nodes = min(instance.nodes_per_ultraserver, default=nodes_for(target, instance))
    said = ("not published",) * 4
    if target.name in MEASURED:
        at_once, of_a_gpu, of_a_user, seconds = MEASURED[target.name]
        said = f"{at_once}", f"{of_a_gpu:,}", f"{of_a_user:g}", f"{seconds} s"
    link = f"[`{target.name}`](targets.md#{anchor(target.name)})"
    return f"{nodes * instance.gpus} × {instance.gpu}", link, _usd(instance.name, nodes), *said


def instances() -> str:
    """Every instance type: GPUs, network, regions, list price."""
    return table(
        ("instance type", "GPUs", "CPU", "EFA devices", "regions", f"USD/h in {REGION}"),
        ((*_instance(each), _usd(each.name, 1)) for each in INSTANCE_TYPES.values()),
    )


def _instance(each: InstanceType) -> tuple[str, ...]:
    gpus = f"{each.gpus} × {each.gpu}" if each.gpu else "none"
    sold = " or ".join(f"{nodes}" for nodes in each.nodes_per_ultraserver)
    name = f"`{each.name}`" + (f" (sold {sold} at a time)" if sold else "")
    regions = ", ".join(sorted(each.regions)) if each.regions else "not listed"
    return name, gpus, each.arch, f"{each.efa_devices or 'none'}", regions


def prices() -> str:
    """Every list price, with where and when it was read."""
    return table(
        ("part", f"USD an hour in {REGION}", "read on", "source"),
        (
            (f"`{unit}`", "no list price", "", "")
            if price is None
            else (f"`{unit}`", f"{price.usd:.6f}".rstrip("0"), price.date, price.source)
            for unit, price in PRICES.items()
        ),
    )


def releases() -> str:
    """Every Dynamo release: its API, what it lacks, and the targets that run on it."""
    return table(
        ("Dynamo", "graphs are written in", "targets", "what it lacks, or does worse"),
        (
            (
                f"{release} (default)" if release == DEFAULT else release,
                f"`{graph_api_version(Version.parse(release))}`",
                _runs(Version.parse(release)),
                "; ".join(RELEASE_COSTS.get(line, ())),
            )
            for line, release in LATEST_PATCH.items()
        ),
    )


def _runs(release: Version) -> str:
    missing = [target.name for target in TARGETS.values() if not target.releases.run(release)]
    if not missing:
        return "all"
    return f"all but {', '.join(f'`{name}`' for name in missing)}"


def software() -> str:
    """What the program needs and installs, by version."""
    pins = re.findall(r"^(pulumi[\w-]*)==([\d.]+)", (PROJECT / "requirements.txt").read_text(), re.MULTILINE)
    charts = (GPU_OPERATOR, DRA_DRIVER, EFA_DEVICE_PLUGIN, KUBE_PROMETHEUS_STACK, EXTERNAL_SECRETS, KEDA)
    return table(
        ("what", "version"),
        (
            ("Python", "3.11 or newer"),
            *((f"`{name}` (Python package)", version) for name, version in pins),
            ("Kubernetes of a new EKS cluster (`cluster.version`)", KUBERNETES),
            *(
                (f"EKS's standard support of Kubernetes {release} ends", f"{end}")
                for release, end in STANDARD_SUPPORT_ENDS.items()
            ),
            ("Kubernetes of the embedded cluster", EMBEDDED_KUBERNETES),
            *((f"chart `{chart.name}`", chart.version) for chart in charts),
        ),
    )


def rollout() -> str:
    """GPU time that is paid before the first token, by stack, and the least that it can be."""
    return f"{table(rollouts.HEAD, rollouts.rows(PROJECT))}\n{rollouts.limits()}"


def table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def anchor(heading: str) -> str:
    """What GitHub, and the site, call a heading in an address."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


TABLES: dict[str, Callable[[], str]] = {
    "targets": targets,
    "measured": measured,
    "instances": instances,
    "prices": prices,
    "releases": releases,
    "software": software,
    "rollout": rollout,
}
_MARK = re.compile(r"(<!-- table (\w+): .*? -->\n).*?(<!-- end of the table -->)", re.DOTALL)


def written(page: str) -> str:
    """The page with its tables as the code has them now."""
    return _MARK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", page)


if __name__ == "__main__":
    for path in DOCS.glob("*.md"):
        path.write_text(written(path.read_text()))
