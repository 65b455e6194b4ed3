"""One adapter a resource type: a Pulumi resource's inputs made into the AWS calls that its provider would make.

Every adapter says how far the check goes. MOTO: it made the thing, so parameters and references are real there.
BOTOCORE: its model checked the parameters and the adapter the references, since moto has no such thing.
"""

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
from botocore import xform_name

from tests.aws import botocheck, buckets

MOTO, BOTOCORE = "moto", "botocore"


@cache
def client(service: str, region: str) -> Any:
    """One for all accounts: making it takes as long as twenty calls, and moto's accounts all have the same keys."""
    return boto3.client(service, region_name=region)


@dataclass
class Account:
    """moto's account, and what it cannot hold. blocks: Capacity Blocks by id, as EC2 describes them.

    also_offered: zones by instance type, for types that moto's lists do not have.
    """

    region: str
    also_offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blocks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reached: bool = True
    """Whether API servers answer from where the program runs."""
    aws_cli: bool = True
    """Whether the AWS CLI is there."""
    eks_group: str = ""
    """Security group of the cluster that was there before; moto's EKS makes none."""
    lacks: tuple[str, ...] = ()
    """Zones of the region that this account has not."""
    made: list[str] = field(default_factory=list)
    """Operations that made something, in order."""
    beside: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Things that moto lacks, by kind and id."""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def call(self, service: str, operation: str, **parameters: Any) -> Any:
        """Call moto, once botocore's model has nothing against the parameters."""
        parameters = {key: value for key, value in parameters.items() if value is not None}
        botocheck.check(service, operation, parameters)
        if operation.startswith("Create"):
            self.made.append(operation)
        return getattr(client(service, self.region), xform_name(operation))(**parameters)

    def keep(self, kind: str, key: str, **content: Any) -> None:
        """Hold what moto lacks."""
        assert (kind, key) not in self.beside, f"{kind} {key} is there already"
        self.beside[kind, key] = content

    def drop(self, kind: str, key: str) -> None:
        """Let go of it."""
        del self.beside[kind, key]

    def number(self) -> int:
        """One that was not there before."""
        return next(self._numbers)

    def new_id(self, prefix: str) -> str:
        """An id for what moto does not number."""
        return f"{prefix}-{next(self._numbers):017x}"

    def subnets(self, *ids: str) -> list[dict[str, Any]]:
        """The subnets; moto's own error for one that is not there."""
        found: list[dict[str, Any]] = self.call("ec2", "DescribeSubnets", SubnetIds=list(ids))["Subnets"]
        return found

    def groups(self, *ids: str) -> None:
        """moto's own error for a security group that is not there."""
        self.call("ec2", "DescribeSecurityGroups", GroupIds=sorted(set(ids)))

    def role(self, arn: str, service: str) -> None:
        """The role must be there and trust the service."""
        role = self.call("iam", "GetRole", RoleName=arn.rpartition("/")[2])["Role"]
        assert role["Arn"] == arn
        trusted = [s["Principal"]["Service"] for s in role["AssumeRolePolicyDocument"]["Statement"]]
        assert trusted == [service], f"{arn} trusts {trusted}, not {service}"

    def attached(self, arn: str) -> set[str]:
        """Names of the policies on a role."""
        listed = self.call("iam", "ListAttachedRolePolicies", RoleName=arn.rpartition("/")[2])
        return {policy["PolicyName"] for policy in listed["AttachedPolicies"]}

    def cluster(self, name: str) -> dict[str, Any]:
        """The cluster; moto's own error if it is not there."""
        found: dict[str, Any] = self.call("eks", "DescribeCluster", name=name)["cluster"]
        return found


Made = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Adapter:
    """create: from account, logical name and inputs to id and outputs. delete: from account, id and outputs."""

    create: Callable[[Account, str, dict[str, Any]], Made]
    delete: Callable[[Account, str, dict[str, Any]], None]
    check: str = MOTO


def pascal(value: Any) -> Any:
    """Keys as EC2 writes them; "true" and "false", which the provider takes as text, as booleans."""
    if isinstance(value, dict):
        return {key[0].upper() + key[1:]: pascal(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [pascal(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def numbers_whole(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same keys, with whole numbers as such."""
    return None if value is None else {k: int(v) if isinstance(v, float) else v for k, v in value.items()}


def tags(kind: str, given: dict[str, Any]) -> list[dict[str, Any]] | None:
    """EC2's TagSpecifications."""
    if not given.get("tags"):
        return None
    return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in given["tags"].items()]}]


def _vpc(account: Account, _: str, given: dict[str, Any]) -> Made:
    vpc = account.call("ec2", "CreateVpc", CidrBlock=given["cidrBlock"], TagSpecifications=tags("vpc", given))
    made = vpc["Vpc"]["VpcId"]
    for attribute in ("EnableDnsSupport", "EnableDnsHostnames"):
        value = given[attribute[0].lower() + attribute[1:]]
        account.call("ec2", "ModifyVpcAttribute", VpcId=made, **{attribute: {"Value": value}})
    return made, {}


def _subnet(account: Account, _: str, given: dict[str, Any]) -> Made:
    subnet = account.call(
        "ec2", "CreateSubnet",
        VpcId=given["vpcId"], CidrBlock=given["cidrBlock"], AvailabilityZone=given["availabilityZone"],
        TagSpecifications=tags("subnet", given),
    )  # fmt: skip
    return subnet["Subnet"]["SubnetId"], {}


def _internet_gateway(account: Account, _: str, given: dict[str, Any]) -> Made:
    made = account.call("ec2", "CreateInternetGateway")["InternetGateway"]["InternetGatewayId"]
    account.call("ec2", "AttachInternetGateway", InternetGatewayId=made, VpcId=given["vpcId"])
    return made, {"vpcId": given["vpcId"]}


def _no_internet_gateway(account: Account, made: str, state: dict[str, Any]) -> None:
    account.call("ec2", "DetachInternetGateway", InternetGatewayId=made, VpcId=state["vpcId"])
    account.call("ec2", "DeleteInternetGateway", InternetGatewayId=made)


def _route_table(account: Account, _: str, given: dict[str, Any]) -> Made:
    made = account.call(
        "ec2", "CreateRouteTable", VpcId=given["vpcId"], TagSpecifications=tags("route-table", given)
    )
    return made["RouteTable"]["RouteTableId"], {}


def _route(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.call("ec2", "CreateRoute", **pascal(given))
    return f"{given['routeTableId']}-{given['destinationCidrBlock']}", {}


def _no_route(account: Account, _: str, state: dict[str, Any]) -> None:
    table, to = state["routeTableId"], state["destinationCidrBlock"]
    account.call("ec2", "DeleteRoute", RouteTableId=table, DestinationCidrBlock=to)


def _association(account: Account, _: str, given: dict[str, Any]) -> Made:
    return account.call("ec2", "AssociateRouteTable", **pascal(given))["AssociationId"], {}


def _eip(account: Account, _: str, given: dict[str, Any]) -> Made:
    return account.call("ec2", "AllocateAddress", **pascal(given))["AllocationId"], {}


def _nat(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.subnets(given["subnetId"])
    account.call("ec2", "DescribeAddresses", AllocationIds=[given["allocationId"]])
    return account.call("ec2", "CreateNatGateway", **pascal(given))["NatGateway"]["NatGatewayId"], {}


def _no_nat(account: Account, made: str, _: dict[str, Any]) -> None:
    gateway = account.call("ec2", "DescribeNatGateways", NatGatewayIds=[made])["NatGateways"][0]
    account.call("ec2", "DeleteNatGateway", NatGatewayId=made)
    # AWS takes the gateway's own interface away with it; moto leaves it.
    for address in gateway["NatGatewayAddresses"]:
        account.call("ec2", "DeleteNetworkInterface", NetworkInterfaceId=address["NetworkInterfaceId"])


def _endpoint(account: Account, _: str, given: dict[str, Any]) -> Made:
    if "subnetIds" in given:
        account.subnets(*given["subnetIds"])
        account.groups(*given["securityGroupIds"])
    made = account.call("ec2", "CreateVpcEndpoint", **pascal(given))
    return made["VpcEndpoint"]["VpcEndpointId"], {}


def _security_group(account: Account, name: str, given: dict[str, Any]) -> Made:
    made = account.call(
        "ec2", "CreateSecurityGroup",
        GroupName=name, Description=given["description"], VpcId=given["vpcId"],
        TagSpecifications=tags("security-group", given),
    )["GroupId"]  # fmt: skip
    # The provider takes AWS's own allow-all egress away before it writes the rules.
    everywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    account.call("ec2", "RevokeSecurityGroupEgress", GroupId=made, IpPermissions=everywhere)
    for direction, operation in (("ingress", "Ingress"), ("egress", "Egress")):
        for rule in given.get(direction, []):
            account.call(
                "ec2",
                f"AuthorizeSecurityGroup{operation}",
                GroupId=made,
                IpPermissions=[_permission(rule, made)],
            )
    return made, {}


def _default_group(account: Account, _: str, given: dict[str, Any]) -> Made:
    """The provider takes over the group that EC2 made, and takes its rules away; EC2 deletes it with the VPC."""
    filters = [{"Name": "vpc-id", "Values": [given["vpcId"]]}, {"Name": "group-name", "Values": ["default"]}]
    (found,) = account.call("ec2", "DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
    for direction, key in (("Ingress", "IpPermissions"), ("Egress", "IpPermissionsEgress")):
        assert direction.lower() not in given
        if found[key]:
            account.call(
                "ec2", f"RevokeSecurityGroup{direction}", GroupId=found["GroupId"], IpPermissions=found[key]
            )
    return found["GroupId"], {}


def _permission(rule: dict[str, Any], group: str) -> dict[str, Any]:
    ports = (
        {} if rule["protocol"] == "-1" else {"FromPort": int(rule["fromPort"]), "ToPort": int(rule["toPort"])}
    )
    return {
        "IpProtocol": rule["protocol"],
        **ports,
        "UserIdGroupPairs": [{"GroupId": group}] if rule.get("self") else [],
        "IpRanges": [{"CidrIp": cidr} for cidr in rule.get("cidrBlocks", [])],
    }


def _group_rule(direction: str) -> Callable[[Account, str, dict[str, Any]], Made]:
    def create(account: Account, _: str, given: dict[str, Any]) -> Made:
        account.groups(
            given["securityGroupId"], given.get("referencedSecurityGroupId", given["securityGroupId"])
        )
        permission = {
            "IpProtocol": given["ipProtocol"],
            "FromPort": int(given["fromPort"]),
            "ToPort": int(given["toPort"]),
        }
        if "cidrIpv4" in given:
            permission["IpRanges"] = [{"CidrIp": given["cidrIpv4"]}]
        else:
            permission["UserIdGroupPairs"] = [{"GroupId": given["referencedSecurityGroupId"]}]
        made = account.call(
            "ec2", f"AuthorizeSecurityGroup{direction}",
            GroupId=given["securityGroupId"], IpPermissions=[permission],
        )  # fmt: skip
        return made["SecurityGroupRules"][0]["SecurityGroupRuleId"], {"permission": permission}

    return create


def _no_group_rule(direction: str) -> Callable[[Account, str, dict[str, Any]], None]:
    def delete(account: Account, _: str, state: dict[str, Any]) -> None:
        account.call(
            "ec2", f"RevokeSecurityGroup{direction}",
            GroupId=state["securityGroupId"], IpPermissions=[state["permission"]],
        )  # fmt: skip

    return delete


def launch_template_data(given: dict[str, Any]) -> dict[str, Any]:
    """EC2's LaunchTemplateData."""
    data: dict[str, Any] = pascal({key: value for key, value in given.items() if key != "tags"})
    for interface in data.get("NetworkInterfaces", []):
        interface["Groups"] = interface.pop("SecurityGroups")
    for specification, said in zip(
        data.get("TagSpecifications", []), given["tagSpecifications"], strict=True
    ):
        specification["Tags"] = [{"Key": key, "Value": value} for key, value in said["tags"].items()]
    reservation = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    arn = "CapacityReservationResourceGroupArn"
    if arn in reservation:
        assert reservation[arn].startswith("arn:aws:resource-groups:")
    return data


def _launch_template(account: Account, name: str, given: dict[str, Any]) -> Made:
    data = launch_template_data(given)
    for interface in data.get("NetworkInterfaces", []):
        account.groups(*interface["Groups"])
    if "Placement" in data:
        assert ("placement-group", data["Placement"]["GroupName"]) in account.beside
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    if "CapacityReservationId" in target:
        assert target["CapacityReservationId"] in account.blocks, target
    made = account.call("ec2", "CreateLaunchTemplate", LaunchTemplateName=name, LaunchTemplateData=data)
    template = made["LaunchTemplate"]
    return template["LaunchTemplateId"], {"latestVersion": template["LatestVersionNumber"], "data": data}


def _zone_group(account: Account, _: str, given: dict[str, Any]) -> Made:
    botocheck.check(
        "ec2",
        "ModifyAvailabilityZoneGroup",
        {"GroupName": given["groupName"], "OptInStatus": given["optInStatus"]},
    )
    account.keep("zone-group", given["groupName"])
    return given["groupName"], {}


def _placement_group(account: Account, name: str, given: dict[str, Any]) -> Made:
    botocheck.check("ec2", "CreatePlacementGroup", {"GroupName": name, "Strategy": given["strategy"]})
    account.keep("placement-group", name)
    return name, {"name": name}


def _role(account: Account, name: str, given: dict[str, Any]) -> Made:
    name = f"{name}-{account.number():07x}"  # as Pulumi names what has no name
    made = account.call(
        "iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument=given["assumeRolePolicy"]
    )
    return name, {"name": name, "arn": made["Role"]["Arn"]}


def _attachment(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.call("iam", "GetPolicy", PolicyArn=given["policyArn"])
    account.call("iam", "AttachRolePolicy", RoleName=given["role"], PolicyArn=given["policyArn"])
    return f"{given['role']}-{given['policyArn']}", {}


def _no_attachment(account: Account, _: str, state: dict[str, Any]) -> None:
    account.call("iam", "DetachRolePolicy", RoleName=state["role"], PolicyArn=state["policyArn"])


def _role_policy(account: Account, name: str, given: dict[str, Any]) -> Made:
    account.call(
        "iam", "PutRolePolicy", RoleName=given["role"], PolicyName=name, PolicyDocument=given["policy"]
    )
    return f"{given['role']}:{name}", {"name": name}


def _no_role_policy(account: Account, _: str, state: dict[str, Any]) -> None:
    account.call("iam", "DeleteRolePolicy", RoleName=state["role"], PolicyName=state["name"])


def _key(account: Account, _: str, given: dict[str, Any]) -> Made:
    made = account.call("kms", "CreateKey", Description=given["description"])["KeyMetadata"]
    assert given["enableKeyRotation"] is True
    account.call("kms", "EnableKeyRotation", KeyId=made["KeyId"])
    return made["KeyId"], {"arn": made["Arn"]}


def _no_key(account: Account, made: str, state: dict[str, Any]) -> None:
    days = int(state["deletionWindowInDays"])
    account.call("kms", "ScheduleKeyDeletion", KeyId=made, PendingWindowInDays=days)


def _log_group(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.call("logs", "CreateLogGroup", logGroupName=given["name"])
    account.call(
        "logs", "PutRetentionPolicy",
        logGroupName=given["name"], retentionInDays=int(given["retentionInDays"]),
    )  # fmt: skip
    return given["name"], {}


def _cluster(account: Account, _: str, given: dict[str, Any]) -> Made:
    network = given["vpcConfig"]
    subnets = account.subnets(*network["subnetIds"])
    assert len({subnet["AvailabilityZone"] for subnet in subnets}) >= 2
    (vpc,) = {subnet["VpcId"] for subnet in subnets}
    account.role(given["roleArn"], "eks.amazonaws.com")
    assert account.attached(given["roleArn"]) == {"AmazonEKSClusterPolicy"}
    encryption = given["encryptionConfig"]
    account.call("kms", "DescribeKey", KeyId=encryption["provider"]["keyArn"])
    group = account.call(
        "ec2", "CreateSecurityGroup",
        GroupName=f"eks-cluster-sg-{given['name']}", Description="made by EKS", VpcId=vpc,
    )["GroupId"]  # fmt: skip
    made = account.call(
        "eks", "CreateCluster",
        name=given["name"], version=given["version"], roleArn=given["roleArn"], resourcesVpcConfig=network,
        encryptionConfig=[{**encryption, "provider": {"keyArn": encryption["provider"]["keyArn"]}}],
        logging={"clusterLogging": [{"types": given["enabledClusterLogTypes"], "enabled": True}]},
        accessConfig=given["accessConfig"], bootstrapSelfManagedAddons=given["bootstrapSelfManagedAddons"],
        upgradePolicy=given["upgradePolicy"], deletionProtection=given["deletionProtection"],
    )["cluster"]  # fmt: skip
    return given["name"], {
        "arn": made["arn"],
        "endpoint": made["endpoint"],
        "certificateAuthority": made["certificateAuthority"],
        "vpcConfig": {**network, "vpcId": vpc, "clusterSecurityGroupId": group},
    }


def read_cluster(account: Account, name: str) -> dict[str, Any]:
    """The provider's state of a cluster that is there."""
    found = account.cluster(name)
    network = found["resourcesVpcConfig"]
    (vpc,) = {subnet["VpcId"] for subnet in account.subnets(*network["subnetIds"])}
    return {
        "name": name,
        "arn": found["arn"],
        "endpoint": found["endpoint"],
        "certificateAuthority": found["certificateAuthority"],
        "vpcConfig": {
            "subnetIds": network["subnetIds"],
            "vpcId": vpc,
            "clusterSecurityGroupId": account.eks_group,
        },
    }


def _no_cluster(account: Account, made: str, state: dict[str, Any]) -> None:
    account.call("eks", "DeleteCluster", name=made)
    account.call("ec2", "DeleteSecurityGroup", GroupId=state["vpcConfig"]["clusterSecurityGroupId"])


def _node_group(account: Account, name: str, given: dict[str, Any]) -> Made:
    account.cluster(given["clusterName"])
    account.subnets(*given["subnetIds"])
    account.role(given["nodeRoleArn"], "ec2.amazonaws.com")
    assert account.attached(given["nodeRoleArn"]) - {"AmazonSSMManagedInstanceCore"} == {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
    }
    there = {key[1] for key in account.beside if key[0] == "addon"}
    assert {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"} <= {key.rpartition(":")[2] for key in there}
    template = given["launchTemplate"]
    account.call(
        "ec2", "DescribeLaunchTemplateVersions",
        LaunchTemplateId=template["id"], Versions=[template["version"]],
    )  # fmt: skip
    account.call(
        "eks", "CreateNodegroup",
        clusterName=given["clusterName"], nodegroupName=name, nodeRole=given["nodeRoleArn"],
        subnets=given["subnetIds"], amiType=given["amiType"], capacityType=given.get("capacityType"),
        launchTemplate=template, labels=given.get("labels"), taints=given.get("taints"),
        scalingConfig=numbers_whole(given["scalingConfig"]), updateConfig=numbers_whole(given.get("updateConfig")),
        nodeRepairConfig=given["nodeRepairConfig"],
        version=given.get("version"), releaseVersion=given.get("releaseVersion"),
    )  # fmt: skip
    scaling = {"autoscalingGroups": [{"name": f"eks-{name}-1"}]}
    return f"{given['clusterName']}:{name}", {
        "nodeGroupName": name, "clusterName": given["clusterName"], "resources": [scaling],
    }  # fmt: skip


def _schedule(account: Account, _: str, given: dict[str, Any]) -> Made:
    """moto makes no Auto Scaling group for a node group; the provider leaves out sizes of -1."""
    sizes = {"MinSize": "minSize", "MaxSize": "maxSize", "DesiredCapacity": "desiredCapacity"}
    botocheck.check(
        "autoscaling",
        "PutScheduledUpdateGroupAction",
        {
            "AutoScalingGroupName": given["autoscalingGroupName"],
            "ScheduledActionName": given["scheduledActionName"],
            "StartTime": given["startTime"],
            **{key: int(given[said]) for key, said in sizes.items() if given[said] != -1},
        },
    )
    assert datetime.fromisoformat(given["startTime"]) > datetime.now(UTC), (
        "AWS: Given start time is in the past"
    )
    action = f"{given['autoscalingGroupName']}:{given['scheduledActionName']}"
    account.keep("scheduled-action", action)
    return action, {}


def _no_node_group(account: Account, _: str, state: dict[str, Any]) -> None:
    account.call(
        "eks", "DeleteNodegroup", clusterName=state["clusterName"], nodegroupName=state["nodeGroupName"]
    )


def _addon(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.cluster(given["clusterName"])
    identities = given.get("podIdentityAssociations") or []
    for identity in identities:
        account.role(identity["roleArn"], "pods.eks.amazonaws.com")
        assert account.attached(identity["roleArn"]), "an identity without a right"
    botocheck.check(
        "eks",
        "CreateAddon",
        {
            "clusterName": given["clusterName"],
            "addonName": given["addonName"],
            "addonVersion": given["addonVersion"],
            **(
                {"configurationValues": given["configurationValues"]}
                if "configurationValues" in given
                else {}
            ),
            "resolveConflicts": given["resolveConflictsOnCreate"],
            "podIdentityAssociations": identities,
        },
    )
    if identities:
        assert ("addon", f"{given['clusterName']}:eks-pod-identity-agent") in account.beside
    made = f"{given['clusterName']}:{given['addonName']}"
    account.keep("addon", made)
    return made, {}


def _pod_identity(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.cluster(given["clusterName"])
    account.role(given["roleArn"], "pods.eks.amazonaws.com")
    inline = account.call("iam", "ListRolePolicies", RoleName=given["roleArn"].rpartition("/")[2])
    assert inline["PolicyNames"] or account.attached(given["roleArn"]), "an identity without a right"
    botocheck.check("eks", "CreatePodIdentityAssociation", dict(given))
    made = f"{given['clusterName']}:{given['namespace']}/{given['serviceAccount']}"
    account.keep("pod-identity", made, role=given["roleArn"])
    return made, {}


def _access_entry(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.cluster(given["clusterName"])
    botocheck.check("eks", "CreateAccessEntry", dict(given))
    made = f"{given['clusterName']}:{given['principalArn']}"
    account.keep("access-entry", made)
    return made, {}


def _access_policy(account: Account, _: str, given: dict[str, Any]) -> Made:
    entry = f"{given['clusterName']}:{given['principalArn']}"
    assert ("access-entry", entry) in account.beside
    botocheck.check("eks", "AssociateAccessPolicy", dict(given))
    account.keep("access-policy", f"{entry}#{given['policyArn']}")
    return f"{entry}#{given['policyArn']}", {}


def _file_system(account: Account, name: str, given: dict[str, Any]) -> Made:
    made = account.call(
        "efs", "CreateFileSystem",
        CreationToken=name, Encrypted=given["encrypted"], ThroughputMode=given["throughputMode"],
    )  # fmt: skip
    return made["FileSystemId"], {"arn": made["FileSystemArn"]}


def _mount_target(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.groups(*given["securityGroups"])
    return account.call("efs", "CreateMountTarget", **pascal(given))["MountTargetId"], {}


def _access_point(account: Account, name: str, given: dict[str, Any]) -> Made:
    # The provider's token is new each time, as its source says ("ClientToken: id.UniqueId()").
    token = account.new_id(name)
    user, root = pascal(given["posixUser"]), pascal(given["rootDirectory"])
    made = account.call(
        "efs", "CreateAccessPoint",
        ClientToken=token, FileSystemId=given["fileSystemId"], PosixUser=user, RootDirectory=root,
    )  # fmt: skip
    return made["AccessPointId"], {"arn": made["AccessPointArn"]}


def _file_system_policy(account: Account, _: str, given: dict[str, Any]) -> Made:
    for statement in json.loads(given["policy"])["Statement"]:
        if statement["Principal"]["AWS"] != "*":
            account.role(statement["Principal"]["AWS"], "pods.eks.amazonaws.com")
    account.call("efs", "PutFileSystemPolicy", FileSystemId=given["fileSystemId"], Policy=given["policy"])
    return given["fileSystemId"], {}


def _no_file_system_policy(account: Account, _: str, state: dict[str, Any]) -> None:
    """moto cannot delete one; botocore checks the call."""
    botocheck.check("efs", "DeleteFileSystemPolicy", {"FileSystemId": state["fileSystemId"]})


def _lustre(account: Account, _: str, given: dict[str, Any]) -> Made:
    account.subnets(given["subnetIds"])
    account.groups(*given["securityGroupIds"])
    made = account.call(
        "fsx",
        "CreateFileSystem",
        FileSystemType="LUSTRE",
        FileSystemTypeVersion=given["fileSystemTypeVersion"],
        StorageCapacity=int(given["storageCapacity"]),
        StorageType=given["storageType"],
        SubnetIds=[given["subnetIds"]],
        SecurityGroupIds=given["securityGroupIds"],
        LustreConfiguration={
            "DeploymentType": given["deploymentType"],
            "PerUnitStorageThroughput": int(given["perUnitStorageThroughput"]),
            "DataCompressionType": given["dataCompressionType"],
        },
    )["FileSystem"]
    system = made["FileSystemId"]
    return system, {"dnsName": f"{system}.fsx.{account.region}.amazonaws.com", "mountName": "abcdefgh"}


def _budget(account: Account, name: str, given: dict[str, Any]) -> Made:
    """As the provider does: the budget, and then each notification with its subscribers."""
    owner = account.call("sts", "GetCallerIdentity")["Account"]
    account.call(
        "budgets", "CreateBudget",
        AccountId=owner,
        Budget={
            "BudgetName": name, "BudgetType": given["budgetType"], "TimeUnit": given["timeUnit"],
            "BudgetLimit": {"Amount": given["limitAmount"], "Unit": given["limitUnit"]},
            "CostFilters": {each["name"]: each["values"] for each in given["costFilters"]},
        },
    )  # fmt: skip
    for each in given["notifications"]:
        botocheck.check(
            "budgets",
            "CreateNotification",
            {
                "AccountId": owner,
                "BudgetName": name,
                "Notification": {
                    "NotificationType": each["notificationType"],
                    "ComparisonOperator": each["comparisonOperator"],
                    "Threshold": each["threshold"],
                    "ThresholdType": each["thresholdType"],
                },
                "Subscribers": [
                    {"SubscriptionType": "EMAIL", "Address": address}
                    for address in each["subscriberEmailAddresses"]
                ],
            },
        )
    return f"{owner}:{name}", {"name": name}


def _no_budget(account: Account, made: str, state: dict[str, Any]) -> None:
    account.call("budgets", "DeleteBudget", AccountId=made.partition(":")[0], BudgetName=state["name"])


def _delete(service: str, operation: str, key: str) -> Callable[[Account, str, dict[str, Any]], None]:
    def delete(account: Account, made: str, _: dict[str, Any]) -> None:
        account.call(service, operation, **{key: made})

    return delete


def _drop(kind: str) -> Callable[[Account, str, dict[str, Any]], None]:
    return lambda account, made, _: account.drop(kind, made)


def _no_endpoint(account: Account, made: str, _: dict[str, Any]) -> None:
    account.call("ec2", "DeleteVpcEndpoints", VpcEndpointIds=[made])


ADAPTERS: dict[str, Adapter] = {
    "aws:ec2/vpc:Vpc": Adapter(_vpc, _delete("ec2", "DeleteVpc", "VpcId")),
    "aws:ec2/subnet:Subnet": Adapter(_subnet, _delete("ec2", "DeleteSubnet", "SubnetId")),
    "aws:ec2/internetGateway:InternetGateway": Adapter(_internet_gateway, _no_internet_gateway),
    "aws:ec2/routeTable:RouteTable": Adapter(
        _route_table, _delete("ec2", "DeleteRouteTable", "RouteTableId")
    ),
    "aws:ec2/route:Route": Adapter(_route, _no_route),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Adapter(
        _association, _delete("ec2", "DisassociateRouteTable", "AssociationId")
    ),
    "aws:ec2/eip:Eip": Adapter(_eip, _delete("ec2", "ReleaseAddress", "AllocationId")),
    "aws:ec2/natGateway:NatGateway": Adapter(_nat, _no_nat),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Adapter(_endpoint, _no_endpoint),
    "aws:ec2/securityGroup:SecurityGroup": Adapter(
        _security_group, _delete("ec2", "DeleteSecurityGroup", "GroupId")
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Adapter(_default_group, lambda *_: None),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Adapter(
        _group_rule("Ingress"), _no_group_rule("Ingress")
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Adapter(
        _group_rule("Egress"), _no_group_rule("Egress")
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Adapter(
        _launch_template, _delete("ec2", "DeleteLaunchTemplate", "LaunchTemplateId")
    ),
    "aws:ec2/availabilityZoneGroup:AvailabilityZoneGroup": Adapter(
        _zone_group, _drop("zone-group"), BOTOCORE
    ),
    "aws:ec2/placementGroup:PlacementGroup": Adapter(_placement_group, _drop("placement-group"), BOTOCORE),
    "aws:iam/role:Role": Adapter(_role, _delete("iam", "DeleteRole", "RoleName")),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Adapter(_attachment, _no_attachment),
    "aws:iam/rolePolicy:RolePolicy": Adapter(_role_policy, _no_role_policy),
    "aws:kms/key:Key": Adapter(_key, _no_key),
    "aws:autoscaling/schedule:Schedule": Adapter(_schedule, _drop("scheduled-action"), BOTOCORE),
    "aws:budgets/budget:Budget": Adapter(_budget, _no_budget),
    "aws:cloudwatch/logGroup:LogGroup": Adapter(
        _log_group, _delete("logs", "DeleteLogGroup", "logGroupName")
    ),
    "aws:eks/cluster:Cluster": Adapter(_cluster, _no_cluster),
    "aws:eks/nodeGroup:NodeGroup": Adapter(_node_group, _no_node_group),
    "aws:eks/addon:Addon": Adapter(_addon, _drop("addon"), BOTOCORE),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Adapter(
        _pod_identity, _drop("pod-identity"), BOTOCORE
    ),
    "aws:eks/accessEntry:AccessEntry": Adapter(_access_entry, _drop("access-entry"), BOTOCORE),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Adapter(
        _access_policy, _drop("access-policy"), BOTOCORE
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Adapter(
        _lustre, _delete("fsx", "DeleteFileSystem", "FileSystemId")
    ),
    "aws:efs/fileSystem:FileSystem": Adapter(
        _file_system, _delete("efs", "DeleteFileSystem", "FileSystemId")
    ),
    "aws:efs/accessPoint:AccessPoint": Adapter(
        _access_point, _delete("efs", "DeleteAccessPoint", "AccessPointId")
    ),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": Adapter(_file_system_policy, _no_file_system_policy),
    "aws:efs/mountTarget:MountTarget": Adapter(
        _mount_target, _delete("efs", "DeleteMountTarget", "MountTargetId")
    ),
    "aws:s3/bucket:Bucket": Adapter(buckets.made, buckets.gone),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Adapter(
        buckets.closed, _delete("s3", "DeletePublicAccessBlock", "Bucket")
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Adapter(
        buckets.owned, _delete("s3", "DeleteBucketOwnershipControls", "Bucket")
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": Adapter(
        buckets.encrypted, _delete("s3", "DeleteBucketEncryption", "Bucket")
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Adapter(
        buckets.ended, _delete("s3", "DeleteBucketLifecycle", "Bucket")
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Adapter(buckets.let_in, buckets.not_let_in, BOTOCORE),
}


def offerings(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getInstanceTypeOfferings."""
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments["filters"]]
    found = account.call(
        "ec2", "DescribeInstanceTypeOfferings", LocationType=arguments["locationType"], Filters=filters
    )["InstanceTypeOfferings"]
    (wanted,) = [
        value for each in arguments["filters"] if each["name"] == "instance-type" for value in each["values"]
    ]
    found += [
        {"InstanceType": wanted, "Location": zone, "LocationType": arguments["locationType"]}
        for zone in account.also_offered.get(wanted, ())
    ]
    return {
        "id": account.region,
        "instanceTypes": [each["InstanceType"] for each in found],
        "locations": [each["Location"] for each in found],
        "locationTypes": [each["LocationType"] for each in found],
    }


def capacity_block(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getCapacityBlockReservation; moto has no reservations, the account's `blocks` answer."""
    botocheck.check("ec2", "DescribeCapacityReservations", {"CapacityReservationIds": [arguments["id"]]})
    return {"id": arguments["id"], **account.blocks[arguments["id"]]}


def caller(account: Account, _: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getCallerIdentity."""
    found = account.call("sts", "GetCallerIdentity")
    return {
        "id": found["Account"],
        "accountId": found["Account"],
        "arn": found["Arn"],
        "userId": found["UserId"],
    }


def availability_zones(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getAvailabilityZones, without the zones that the account is said not to have."""
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments["filters"]]
    found = account.call("ec2", "DescribeAvailabilityZones", Filters=filters)["AvailabilityZones"]
    there = [
        zone
        for zone in found
        if zone["ZoneId"] not in arguments["excludeZoneIds"] and zone["ZoneName"] not in account.lacks
    ]
    return {
        "id": account.region,
        "names": [z["ZoneName"] for z in there],
        "zoneIds": [z["ZoneId"] for z in there],
    }


def addon_versions(kubernetes: str) -> tuple[str, ...]:
    """Those that EKS lists for a release of Kubernetes, of any add-on: one, which no other release has."""
    return (f"v{kubernetes}.0-eksbuild.1",)


def addon_version(_: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source getAddonVersion; moto knows no versions."""
    named = {"addonName": arguments["addonName"], "kubernetesVersion": arguments["kubernetesVersion"]}
    botocheck.check("eks", "DescribeAddonVersions", named)
    return {"id": arguments["addonName"], "version": addon_versions(named["kubernetesVersion"])[0]}


def parameter(_: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The data source ssm.getParameter, of the releases of EKS's machine image alone."""
    botocheck.check("ssm", "GetParameter", {"Name": arguments["name"]})
    kubernetes = re.fullmatch(
        r"/aws/service/eks/optimized-ami/(1\.\d\d)/amazon-linux-2023/(x86_64|arm64)/(standard|nvidia)"
        r"/recommended/release_version",
        arguments["name"],
    )
    assert kubernetes, arguments["name"]
    return {"id": arguments["name"], "value": f"{kubernetes[1]}.0-20261101"}


CALLS: dict[str, Callable[[Account, Mapping[str, Any]], dict[str, Any]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": caller,
    "aws:index/getAvailabilityZones:getAvailabilityZones": availability_zones,
    "aws:eks/getAddonVersion:getAddonVersion": addon_version,
    "aws:ssm/getParameter:getParameter": parameter,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": offerings,
    "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation": capacity_block,
    "aws:s3/getBucket:getBucket": buckets.found,
}


def snapshot(account: Account) -> dict[str, list[str]]:
    """Ids of everything in the account that a stack could have made, by kind."""

    def listed(service: str, operation: str, key: str, item: str, **more: Any) -> list[str]:
        return sorted(each[item] for each in account.call(service, operation, **more)[key])

    gateways = account.call("ec2", "DescribeNatGateways")["NatGateways"]
    keys = [key["KeyId"] for key in account.call("kms", "ListKeys")["Keys"]]
    states = {key: account.call("kms", "DescribeKey", KeyId=key)["KeyMetadata"]["KeyState"] for key in keys}
    return {
        "vpc": listed("ec2", "DescribeVpcs", "Vpcs", "VpcId"),
        "subnet": listed("ec2", "DescribeSubnets", "Subnets", "SubnetId"),
        "internet gateway": listed(
            "ec2", "DescribeInternetGateways", "InternetGateways", "InternetGatewayId"
        ),
        "nat gateway": [each["NatGatewayId"] for each in gateways if each["State"] != "deleted"],
        "address": listed("ec2", "DescribeAddresses", "Addresses", "AllocationId"),
        "route table": listed("ec2", "DescribeRouteTables", "RouteTables", "RouteTableId"),
        "security group": listed("ec2", "DescribeSecurityGroups", "SecurityGroups", "GroupId"),
        "endpoint": [
            each["VpcEndpointId"]
            for each in account.call("ec2", "DescribeVpcEndpoints")["VpcEndpoints"]
            if each["State"] != "deleted"
        ],
        "interface": listed("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", "NetworkInterfaceId"),
        "launch template": listed("ec2", "DescribeLaunchTemplates", "LaunchTemplates", "LaunchTemplateId"),
        "cluster": list(account.call("eks", "ListClusters")["clusters"]),
        "role": listed("iam", "ListRoles", "Roles", "RoleName"),
        "key": [key for key, state in states.items() if state != "PendingDeletion"],
        "budget": listed(
            "budgets",
            "DescribeBudgets",
            "Budgets",
            "BudgetName",
            AccountId=account.call("sts", "GetCallerIdentity")["Account"],
        ),
        "volume": listed("ec2", "DescribeVolumes", "Volumes", "VolumeId"),
        "log group": listed("logs", "DescribeLogGroups", "logGroups", "logGroupName"),
        "lustre": listed("fsx", "DescribeFileSystems", "FileSystems", "FileSystemId"),
        "file system": listed("efs", "DescribeFileSystems", "FileSystems", "FileSystemId"),
        "bucket": listed("s3", "ListBuckets", "Buckets", "Name"),
        "beside moto": [json.dumps(key) for key in sorted(account.beside)],
    }
