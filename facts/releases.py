"""The Dynamo releases that graphs can be rendered for. Pure.

Sources: the released `ai-dynamo` packages (versions, argument parsers, engine pins), the released frontends, run with
the verification script, the operator's sources at the branch cuts of 1.2, 1.3 and 1.4, and Dynamo's release notes and
known issues (1.0 to 1.4; API versions, images).
"""

from dataclasses import dataclass

from facts.versions import DYNAMO


@dataclass(frozen=True, order=True)
class Version:
    """A MAJOR.MINOR.PATCH version that compares as numbers."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read `1.2.1`. Raises ValueError for anything else."""
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isdigit() for part in parts):
            raise ValueError("write a version as MAJOR.MINOR.PATCH")
        return cls(*map(int, parts))

    @property
    def line(self) -> str:
        """The release line, `1.2` for 1.2.1."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


LATEST_PATCH = {Version.parse(patch).line: patch for patch in DYNAMO}
"""Supported release lines and the patch release of each that is used by default, oldest first."""

DEFAULT = LATEST_PATCH["1.4"]
"""The release of graphs that name none."""
WHY_THE_DEFAULT = (
    "1.4.2 is the first release on which everything holds that a stack may ask for: its frontend says when a model is "
    "ready and which workers answered, under every router; its images run the agentic B200 targets unprivileged, and "
    "exist with EFA's libraries; its operator takes image digests with their release, and rolls changed workers over a "
    "full node."
)
"""Why it is that one."""

RELEASE_COSTS: dict[str, tuple[str, ...]] = {
    "0.4": (
        "no parser for harmony: reasoning stays in the answer, tool calls are text",
        "no agentic target, no EFA image, no endpoint picker",
        "its own TensorRT-LLM image is older than GPT-OSS support: the 0.4 guide builds another",
        "needs NATS and etcd, and a platform of 1.0.2 or newer, since its own cannot be installed",
    ),
    "1.0": (
        "the frontend has no route that says when a model is ready, and does not name the workers that answered when "
        "the router is round-robin",
        "no agentic target; over EFA no GB200 and no SGLang",
        "needs NATS and etcd",
    ),
    "1.2": (
        "the published recipes' own release, in v1alpha1",
        "frontend as on 1.0.2: no ready route, workers named under the kv router alone",
        "no agentic target; over EFA no GB200 and no SGLang",
        "needs NATS",
    ),
    "1.3": (
        "the agentic recipes' own release; on B200 their workers must run as root, because the image lets nobody else "
        "write where FlashInfer puts its kernels (dynamo PR#12770)",
        "no SGLang over EFA",
        "needs NATS",
    ),
    "1.4": (
        "no endpoint picker, no Planner",
        "known issue: a router that sees an ambiguous set of prefill and decode workers for a moment stops "
        "disaggregating until it is restarted, and answers all the same; `make verify` shows it",
        "known issue: a TensorRT-LLM worker whose engine was killed says that it is healthy",
    ),
    "1.6": (
        "with endpoint picker and Planner; its operator, release notes and known issues were not at hand when the "
        "default was chosen",
    ),
}
"""What a stack gives up by a release line, as far as it was looked into."""

GRAPH_API_V1BETA1_SINCE = Version(1, 3)
"""First release whose operator admits nvidia.com/v1beta1 reliably and whose recipes are written in it.

The operator serves it from 1.2.0, but its admission was ported only in 1.3 (dynamo PR#10934): before, a graph in
v1beta1 may be refused for having no services (dynamo#10419).
"""

MXFP8_VARIABLE = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"
MXFP8_ARGUMENTS_SINCE = Version(1, 4)
"""From the vLLM of this release on (0.26) the variable is gone, and experts would compute in 16 bits without a word."""

ENDPOINT_PICKER_SINCE = Version(1, 5)
"""First release with an endpoint picker of Dynamo's own; before, the picker wants a plug-in configuration."""

RUNTIME_VERSION_SAID_SINCE = Version(1, 4)
"""First release whose operator knows `runtimeVersionOverride`, and wants it of images whose tag is no version."""

EFA_IMAGES_SINCE = Version(1, 0)
_EFA_TAG_WITHOUT_ARCH_SINCE = Version(1, 3)


def parse_supported(text: str) -> Version:
    """The version if its release line is supported. Raises ValueError naming the choices."""
    choices = f"choose one of {', '.join(LATEST_PATCH.values())}"
    try:
        version = Version.parse(text)
    except ValueError as error:
        raise ValueError(f"{error}; {choices}") from None
    if version.line not in LATEST_PATCH:
        raise ValueError(f"Dynamo {text} is not supported; {choices}")
    return version


def efa_tag(version: Version) -> str:
    """Tag of the published images that hold EFA's libraries.

    `1.2.1-efa-amd64` holds AMD64 and ARM64 whatever it says; `1.2.1-efa` was never published (Dynamo's guide to KV
    cache transfer with TensorRT-LLM).
    """
    return f"{version}-efa" if version >= _EFA_TAG_WITHOUT_ARCH_SINCE else f"{version}-efa-amd64"


def graph_api_version(version: Version) -> str:
    """The DynamoGraphDeployment API version that graphs of this release are written in."""
    return "nvidia.com/v1beta1" if version >= GRAPH_API_V1BETA1_SINCE else "nvidia.com/v1alpha1"
