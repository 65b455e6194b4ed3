"""What texts of a stack file look like, in words: nobody should have to read a regular expression. Pure."""

from typing import NamedTuple


class Shape(NamedTuple):
    """words: what to write. example: one that is taken."""

    words: str
    example: str

    def __str__(self) -> str:
        return f"write {self.words}, for example {self.example}"


_URL = Shape("an address that begins with http:// or https://", "http://prometheus.monitoring:9090")
_LABEL = "letters, digits, dots, dashes and underscores, at most 63"

SHAPES: dict[str, Shape] = {
    r"^([1-9][0-9]*[hd]|never)$": Shape("hours or days, or never", "48h"),
    r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$": Shape(_LABEL, "gpu-a"),
    r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$": Shape(
        "a name, behind a domain and a slash if it has one", "example.com/team"
    ),
    r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$": Shape("a domain name", "llm.example.com"),
    r"^1\.\d\d$": Shape("a minor version", "1.35"),
    r"^[0-9A-Za-z.-]{1,20}$": Shape("at most 20 letters, digits, dots and dashes", "2026-11-22"),
    r"^[0-9a-f]{40}$": Shape(
        "the 40 digits of a commit, no branch or tag", "0123456789abcdef0123456789abcdef01234567"
    ),
    r"^[1-9][0-9]*(Gi|Ti)$": Shape("a size in Gi or Ti", "100Gi"),
    r"^[A-Za-z0-9 _.:/=+@-]{0,256}$": Shape("at most 256 letters, digits, spaces and _.:/=+@-", "team-a"),
    r"^[A-Za-z0-9 _.:/=+@-]{1,128}$": Shape("at most 128 letters, digits, spaces and _.:/=+@-", "team"),
    r"^[A-Za-z0-9/_+=.@:-]+$": Shape("a secret's name or ARN", "team/hf-token"),
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$": Shape(
        "at most 100 letters, digits, dashes and underscores", "my-cluster"
    ),
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$": Shape(_LABEL, "team-a"),
    r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$": Shape("an image's tag", "team-2026-11-22"),
    r"^[A-Za-z_][A-Za-z0-9_]*$": Shape("letters, digits and underscores, no digit first", "DYN_LOG"),
    r"^[\w./-]+$": Shape("a path inside the repository", "container/Dockerfile"),
    r"^[^/]+/[^/]+/[^/]+$": Shape("organization, project and stack with slashes between", "acme/infra/prod"),
    r"^[^\n]*$": Shape("one line", "FRAMEWORK=vllm"),
    r"^[^\s@]+@[^\s@]+\.[^\s@]+$": Shape("a mail address", "team@example.com"),
    r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$": Shape("a device's resource", "rdma/ib"),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": Shape(
        "lower-case letters, digits and dashes, no dash first or last", "team-a"
    ),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$": Shape(
        "namespace and name with a slash between", "dynamo-system/operator"
    ),
    r"^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?$": Shape(
        "an image's name without tag or digest", "nvcr.io/nvidia/ai-dynamo/vllm-runtime"
    ),
    r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$": Shape("the name of a bucket", "team-a-models"),
    r"^[a-z]{2}(-[a-z]+)+-\d$": Shape("a region", "us-east-2"),
    r"^[a-z]{2}(-[a-z]+)+-\d([a-z]|-[a-z]{3}-\d[a-z])$": Shape("an Availability or Local Zone", "us-east-2b"),
    r"^\S+$": Shape("a text without spaces", "team-a"),
    r"^\d{12}$": Shape("the 12 digits of an account", "123456789012"),
    r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/.+$": Shape(
        "the ARN of a role or user", "arn:aws:iam::123456789012:role/ml-platform"
    ),
    r"^arn:aws[a-z-]*:iam::\d{12}:role/\S+$": Shape(
        "the ARN of a role", "arn:aws:iam::123456789012:role/ml-platform"
    ),
    r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/.+$": Shape(
        "the ARN of a resource group", "arn:aws:resource-groups:us-east-2:123456789012:group/blocks"
    ),
    r"^cr-[0-9a-f]{8,17}$": Shape("the id of a reservation", "cr-0123456789abcdef0"),
    r"^fs-[0-9a-f]{8,40}$": Shape("the id of a file system", "fs-0123456789abcdef0"),
    r"^https://\S+$": Shape(
        "an address that begins with https://", "https://github.com/ai-dynamo/dynamo.git"
    ),
    r"^https?://[^/\s]+$": _URL,
    r"^https?://[^/\s]+(:\d+)?(/\S*)?$": _URL,
    r"^https?://[^\s/@]+(/\S*)?$": Shape(
        "an address that begins with http:// or https://, without user or password", "https://hub.example.com"
    ),
    r"^https?://[^\s/]+(/\S*)?$": _URL,
    r"^sha256:[0-9a-f]{64}$": Shape("sha256: and 64 digits", f"sha256:{'0123456789abcdef' * 4}"),
    r"^subnet-[0-9a-f]{8,17}$": Shape("the id of a subnet", "subnet-0123456789abcdef0"),
    r"^vpc-[0-9a-f]{8,17}$": Shape("the id of a VPC", "vpc-0123456789abcdef0"),
}
"""By the pattern that the settings check."""
