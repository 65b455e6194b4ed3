"""Which inputs replace a resource when they change: `pulumi preview` asks the providers, `ops diff` has none to ask.

Kubernetes: fields that the API server never changes, which pulumi-kubernetes replaces an object for. AWS: attributes
that Terraform's provider, which pulumi-aws 7 is made from, declares `ForceNew` or `RequiresReplace`
(`internal/service/*/*.go` in hashicorp/terraform-provider-aws), for the types that stacks here have; what it decides
from old and new value (a smaller Lustre file system) counts as well.
"""

import re
from collections.abc import Mapping, Sequence

_IDENTITY = ("metadata.name", "metadata.namespace")
KUBERNETES: Mapping[str, tuple[str, ...]] = {
    "apps/v1:DaemonSet": ("spec.selector",),
    "apps/v1:Deployment": ("spec.selector",),
    "batch/v1:Job": ("spec.completions", "spec.selector", "spec.template"),
    "core/v1:PersistentVolume": ("spec.csi", "spec.volumeMode"),
    "core/v1:PersistentVolumeClaim": (
        "spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.volumeName",
    ),
    "core/v1:Secret": ("type",),
    "helm.sh/v3:Release": ("name", "namespace"),
    "storage.k8s.io/v1:StorageClass": (
        "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode",
    ),
}  # fmt: skip
AWS: Mapping[str, tuple[str, ...]] = {
    "autoscaling/schedule:Schedule": ("autoscalingGroupName", "scheduledActionName"),
    "budgets/budget:Budget": ("accountId", "name"),
    "cloudwatch/logGroup:LogGroup": ("logGroupClass", "name", "namePrefix"),
    "codebuild/project:Project": ("name",),
    "ec2/availabilityZoneGroup:AvailabilityZoneGroup": ("groupName",),
    "ec2/defaultSecurityGroup:DefaultSecurityGroup": ("vpcId",),
    "ec2/eip:Eip": ("address", "domain", "networkBorderGroup", "publicIpv4Pool"),
    "ec2/internetGateway:InternetGateway": (),
    "ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "ec2/natGateway:NatGateway": ("allocationId", "connectivityType", "privateIp", "subnetId"),
    "ec2/placementGroup:PlacementGroup": ("name", "partitionCount", "spreadLevel", "strategy"),
    "ec2/route:Route": (
        "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId", "routeTableId",
    ),
    "ec2/routeTable:RouteTable": ("vpcId",),
    "ec2/routeTableAssociation:RouteTableAssociation": ("gatewayId", "subnetId"),
    "ec2/securityGroup:SecurityGroup": ("description", "name", "namePrefix", "vpcId"),
    "ec2/subnet:Subnet": ("availabilityZone", "availabilityZoneId", "cidrBlock", "ipv6Native", "outpostArn", "vpcId"),
    "ec2/vpc:Vpc": ("cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"),
    "ec2/vpcEndpoint:VpcEndpoint": ("serviceName", "serviceRegion", "vpcEndpointType", "vpcId"),
    "ecr/repository:Repository": ("encryptionConfigurations", "name"),
    "efs/accessPoint:AccessPoint": ("fileSystemId", "posixUser", "rootDirectory"),
    "efs/fileSystem:FileSystem": ("availabilityZoneName", "creationToken", "encrypted", "kmsKeyId", "performanceMode"),
    "efs/fileSystemPolicy:FileSystemPolicy": ("fileSystemId",),
    "efs/mountTarget:MountTarget": ("fileSystemId", "ipAddress", "subnetId"),
    "eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "eks/accessPolicyAssociation:AccessPolicyAssociation": (
        "accessScope", "clusterName", "policyArn", "principalArn",
    ),
    "eks/addon:Addon": ("addonName", "clusterName"),
    "eks/cluster:Cluster": (
        "accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons",
        "kubernetesNetworkConfig.ipFamily", "kubernetesNetworkConfig.serviceIpv4Cidr", "name", "outpostConfig",
        "roleArn",
    ),
    "eks/nodeGroup:NodeGroup": (
        "amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "launchTemplate.id",
        "launchTemplate.name", "nodeGroupName", "nodeGroupNamePrefix", "nodeRoleArn", "remoteAccess", "subnetIds",
    ),
    "eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
    "fsx/lustreFileSystem:LustreFileSystem": (
        "backupId", "deploymentType", "driveCacheType", "exportPath", "fileSystemTypeVersion", "importPath", "kmsKeyId",
        "perUnitStorageThroughput", "securityGroupIds", "storageCapacity", "storageType", "subnetIds",
    ),
    "iam/role:Role": ("name", "namePrefix", "path"),
    "iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
    "iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
    "kms/key:Key": ("customKeyStoreId", "customerMasterKeySpec", "keyUsage", "multiRegion"),
    "s3/bucket:Bucket": ("bucket", "bucketPrefix", "objectLockEnabled"),
    "s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": ("bucket", "expectedBucketOwner"),
    "s3/bucketOwnershipControls:BucketOwnershipControls": ("bucket",),
    "s3/bucketPolicy:BucketPolicy": ("bucket",),
    "s3/bucketPublicAccessBlock:BucketPublicAccessBlock": ("bucket",),
    "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
        "bucket", "expectedBucketOwner",
    ),
    "vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
    "vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
}  # fmt: skip


def forcing(kind: str, own: Sequence[str] = ()) -> tuple[str, ...]:
    """Fields of a resource type whose change replaces it. own: the resource's own `replaceOnChanges`."""
    provider, _, rest = kind.partition(":")
    fixed = (AWS if provider == "aws" else KUBERNETES).get(rest, ())
    if provider == "kubernetes":
        fixed += _IDENTITY
    return fixed + tuple(re.sub(r'\["([^"]+)"\]', r".\1", each) for each in own)


def within(path: str, field: str) -> bool:
    """Whether the path is the field's, or lies in it."""
    return path == field or path.startswith((f"{field}.", f"{field}["))
