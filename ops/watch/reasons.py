"""Why a stack is not there yet: Kubernetes' words as a cause, and the config key that mends it. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from ops.watch.pods import Pod, Stage, Trouble
from ops.watch.scheduling import no_room
from ops.watch.snapshot import Snapshot
from stacks.plan import StackPlan

_PATIENCE = timedelta(seconds=20)
"""How long a claim may be unbound, and an object of the stack's be missing, before it is worth a word."""
_DENIED = ("unauthorized", "denied", "forbidden", "401", "403", "authentication")
_ABSENT = ("not found", "manifest unknown", "no such manifest", "does not exist", "invalidimagename")
_PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_CRASHED = ("CrashLoopBackOff", "RunContainerError", "StartError", "ContainerCannotRun")
_NO_CLASS = re.compile(r'storageclass\S* "([^"]+)" not found')


@dataclass(frozen=True)
class Reason:
    """about: what is waited for. text: why, and after a semicolon what to do, with the config key.

    final: whether nothing that is under way will change it. of: the graph or Job that waits, empty for all.
    looked: when the look that found it began, in seconds of the monotonic clock; None for what is found as it is asked.
    """

    about: str
    text: str
    final: bool = False
    of: str = ""
    looked: float | None = None

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


def reasons(found: Snapshot, plan: StackPlan, *, nodes_join: bool) -> tuple[Reason, ...]:
    """Every reason, what others follow from first. nodes_join: whether nodes may come that are not there yet."""
    claims = tuple(_claims(found, plan))
    unbound = {claim.name for claim in found.claims if claim.phase != "Bound"}
    return (
        *claims,
        *_quotas(found),
        *(
            reason
            for pod in found.pods
            for trouble in pod.trouble
            if (reason := _of_pod(pod, trouble, found, plan, unbound, nodes_join=nodes_join))
        ),
        *_mounts(found, plan),
        *_jobs(found),
    )


def _claims(found: Snapshot, plan: StackPlan) -> Iterator[Reason]:
    for claim in found.claims:
        if claim.phase == "Bound":
            continue
        about = f"claim {claim.name}"
        events = [each for each in found.events if each.about == f"PersistentVolumeClaim/{claim.name}"]
        missing = next((hit[1] for each in events if (hit := _NO_CLASS.search(each.message))), None)
        if missing is None and found.classes is not None and claim.storage_class not in (None, ""):
            missing = claim.storage_class if claim.storage_class not in found.classes else None
        if missing is not None:
            yield Reason(
                about, f"StorageClass {missing} is not there; {_choose_class(found, plan)}", final=True
            )
        elif claim.storage_class is None and found.classes is not None and not any(found.classes.values()):
            yield Reason(
                about,
                f"it names no StorageClass and the cluster has no default; {_choose_class(found, plan)}",
                final=True,
            )
        elif events:
            yield Reason(
                about, f"no volume for it: {events[-1].message}; see cache.kind and {_class_key(plan)}"
            )
        elif claim.since is not None and found.at - claim.since > _PATIENCE:
            yield Reason(
                about,
                "unbound; its provisioner may be down, or make no volumes that are ReadWriteMany: "
                f"see `kubectl describe pvc {claim.name} --namespace {found.namespace}` and {_class_key(plan)}",
            )


def _class_key(plan: StackPlan) -> str:
    return "cache.existingClaim" if plan.cache.existing_claim else "cache.storageClass"


def _choose_class(found: Snapshot, plan: StackPlan) -> str:
    if found.classes is None:
        return f"name one of the cluster's in {_class_key(plan)} (`kubectl get storageclasses` lists them)"
    there = ", ".join(sorted(found.classes)) or "none: the cluster needs a provisioner first"
    return f"name one in {_class_key(plan)} (there: {there})"


def _quotas(found: Snapshot) -> Iterator[Reason]:
    """What a controller was not allowed to make: of this there is no pod."""
    for about, message in _last(found, "FailedCreate").items():
        kind, name = about.split("/", 1)
        owner = f"{kind.lower()} {name}"
        if "exceeded quota" in message:
            yield Reason(
                owner,
                f"a quota of namespace {found.namespace} is used up: {_after(message, 'exceeded quota')}; raise the "
                "ResourceQuota, or use another cluster.namespace",
            )
        elif _made_since(found, name):
            continue
        else:
            yield Reason(
                owner, f"its pod is refused: {message}; see the policies of namespace {found.namespace}"
            )


def _of_pod(
    pod: Pod, trouble: Trouble, found: Snapshot, plan: StackPlan, unbound: set[str], *, nodes_join: bool
) -> Reason | None:
    about = f"{pod.role} (pod {pod.name})"
    if trouble.reason == "Unschedulable":
        if "PersistentVolumeClaim" in trouble.message and unbound:
            return None  # its claim says why
        why = no_room(pod, trouble.message, found, plan)
        return Reason(about, why, final=not nodes_join, of=pod.of)
    if trouble.reason in _PULLING:
        return _image(pod, _registry_words(pod, trouble, found), plan, about)
    if trouble.reason in _CRASHED:
        return Reason(
            about,
            f"its container ended {pod.restarts} times: {trouble.message}; see "
            f"`kubectl logs {pod.name} --namespace {pod.namespace} --previous --all-containers`",
        )
    if trouble.reason == "CreateContainerConfigError":
        return Reason(about, f"{trouble.message}; {_missing_object(trouble.message, plan)}")
    return Reason(about, f"{trouble.reason} {trouble.message}".strip())


def _registry_words(pod: Pod, trouble: Trouble, found: Snapshot) -> str:
    """An event's where there is one: while kubelet backs off, older ones do not repeat them in the pod's status."""
    told = _last(found, "Failed").get(f"Pod/{pod.name}", "")
    return told if "pull" in told else trouble.message or trouble.reason


def _image(pod: Pod, words: str, plan: StackPlan, about: str) -> Reason:
    """What a registry answers does not change by waiting; a network may."""
    key = next((each.key for each in plan.graphs if each.name == pod.of), plan.main.key)
    what, said, words = f"image {pod.image} cannot be pulled", f": {words}", words.lower()
    if any(word in words for word in _DENIED):
        return Reason(
            about,
            f"{what}: the registry refuses{said}; name a pull Secret in {key}.image.pullSecret, or give ngc.apiKey "
            "for nvcr.io",
            final=True,
            of=pod.of,
        )
    if any(word in words for word in _ABSENT):
        return Reason(
            about,
            f"{what}: the registry has no such image{said}; correct {key}.image.repository, tag or digest, or "
            f"{key}.dynamoVersion",
            final=True,
            of=pod.of,
        )
    if "no match for platform" in words:
        return Reason(
            about,
            f"{what}: it has no build for this node's architecture{said}; correct {key}.image.archs",
            final=True,
            of=pod.of,
        )
    return Reason(about, f"{what}{said}; see {key}.image, its pullSecret, and the node's way to the registry")


def _mounts(found: Snapshot, plan: StackPlan) -> Iterator[Reason]:
    """Volumes of pods that have a node and do not start on it."""
    for about, message in (_last(found, "FailedMount") | _last(found, "FailedAttachVolume")).items():
        pod = next((each for each in found.pods if about == f"Pod/{each.name}"), None)
        if pod is None or pod.stage is not Stage.SCHEDULED:
            continue
        yield Reason(f"{pod.role} (pod {pod.name})", f"{message}; {_missing_object(message, plan)}")


def _missing_object(message: str, plan: StackPlan) -> str:
    token = plan.secrets.hugging_face.existing_secret
    if "secret" in message.lower() and token is not None and token in message:
        return "create the Secret, or correct huggingFace.existingSecret"
    if "secret" in message.lower():
        return (
            "create it, or correct the key that names it (huggingFace.existingSecret, graph.image.pullSecret)"
        )
    return "`kubectl describe pod` says more"


def _jobs(found: Snapshot) -> Iterator[Reason]:
    for job in found.jobs:
        if job.state == "Failed":
            logs = f"`kubectl logs job/{job.name} --namespace {found.namespace}`"
            why = f"failed: {job.message or 'no reason given'}; see {logs}"
            # Not final: the `up` that shows it may be about to make it anew.
            yield Reason(f"job {job.name}", why, of=job.name)


def _last(found: Snapshot, reason: str) -> dict[str, str]:
    """By object: the last message of that reason."""
    return {each.about: each.message for each in found.events if each.reason == reason}


def _made_since(found: Snapshot, owner: str) -> bool:
    return any(pod.name.startswith(owner) for pod in found.pods)


def _after(message: str, words: str) -> str:
    return message.partition(words)[2].lstrip(": ")
