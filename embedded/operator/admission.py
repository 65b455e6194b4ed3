"""The rules of Dynamo's webhook for a platform, as a policy of the API server's own: see admission.yaml. Pure."""

from pathlib import Path

import yaml

from embedded.operator.components import Object, digest_of
from embedded.operator.platform import SIMULATED, GraphVersion, Platform
from facts.releases import Version

PRINCIPAL = "system:serviceaccount:dynamo-system:dynamo-platform-dynamo-operator-controller-manager"
"""Who may change the replicas of a component that has an adapter: the operator's service account."""
IN_FORCE = "these rules are in force"
"""What `probe` is refused with."""
_FILE = Path(__file__).parent / "admission.yaml"


def policy(platform: Platform) -> list[Object]:
    """The ValidatingAdmissionPolicy of the platform and its binding."""
    rules, binding = yaml.safe_load_all(_FILE.read_text().replace("PRINCIPAL", PRINCIPAL))
    for one in (rules, binding):
        one["metadata"]["labels"] = SIMULATED
    kept = [
        {key: value for key, value in rule.items() if key not in ("since", "grove")}
        for rule in rules["spec"]["validations"]
        if platform.version >= Version.parse(f"{rule.get('since', '0.0')}.0")
        and (platform.grove or not rule.get("grove"))
    ]
    kept[-1]["expression"] = kept[-1]["expression"].replace("PROBE", f"probe-{digest_of(kept)}")
    rules["spec"]["validations"] = kept
    return [rules, binding]


def probe(version: GraphVersion, rules: Object) -> Object:
    """The graph that just these rules refuse."""
    name = rules["spec"]["validations"][-1]["expression"].split("'")[1]
    spec: Object = {"services": {}} if version == "v1alpha1" else {"components": []}
    return {
        "apiVersion": f"nvidia.com/{version}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": spec,
    }
