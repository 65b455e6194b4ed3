"""A managed node group of GPU instances, bought the way that such instances can be bought."""

import pulumi
import pulumi_aws as aws

from components.aws import iam
from components.nodes import launch_template
from components.nodes.gpu_capacity import (
    by_real_zone,
    end_before_ec2_does,
    in_block,
    refuse_upgrade_of_running_nodes,
    where_offered,
    window,
)
from components.nodes.gpu_node_pool_args import GpuNodePoolArgs
from components.nodes.node_release import node_release
from facts.hardware import GPU_PRODUCT, ami_type, interfaces
from manifests.gpu_nodes import GPU_TAINT, GpuNodes
from targets.capacity import CapacityKind, partition_of, region_of


class GpuNodePool(pulumi.ComponentResource):
    """GPU nodes with the type's EFA layout, labelled and tainted as the graphs' pods expect."""

    node_group_name: pulumi.Output[str]
    """Name of the managed node group."""
    window: pulumi.Output[dict[str, str | None]] | None
    """Start, end and state of the Capacity Block, as EC2 says them; none for other kinds of capacity."""

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:GpuNodePool", name, None, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        block = self._block()
        template = self._template()
        group = self._nodes(template, block)
        if block is not None and args.instance.nodes_per_ultraserver and args.active:
            end_before_ec2_does(f"{name}-end", group, block, self._child)
        self.node_group_name = group.node_group_name
        self.window = None if block is None else block.apply(window)
        self.register_outputs({"nodeGroupName": self.node_group_name, "window": self.window})

    def _block(self) -> pulumi.Output[aws.ec2.GetCapacityBlockReservationResult] | None:
        capacity = self._args.capacity
        if capacity.kind is not CapacityKind.CAPACITY_BLOCK:
            return None
        return aws.ec2.get_capacity_block_reservation_output(
            id=capacity.reservation_id, opts=pulumi.InvokeOutputOptions(parent=self)
        )

    def _security_group(self) -> aws.ec2.SecurityGroup:
        return aws.ec2.SecurityGroup(
            f"{self._name}-efa",
            vpc_id=self._args.cluster.vpc_id,
            description="All traffic among the GPU nodes, which EFA demands in both directions",
            ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}],
            egress=[
                {"protocol": "-1", "from_port": 0, "to_port": 0, "self": True},
                {"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"]},
            ],
            opts=self._child,
        )

    def _placement(self) -> aws.ec2.LaunchTemplatePlacementArgs | None:
        """Close together where nobody else has placed them: a block's nodes are in one cluster already, and a
        reservation takes only the placement group that it was made in.
        """
        if self._args.capacity.kind.prepaid or self._args.nodes == 1:
            return None
        group = aws.ec2.PlacementGroup(self._name, strategy="cluster", opts=self._child)
        return aws.ec2.LaunchTemplatePlacementArgs(group_name=group.name)

    def _template(self) -> aws.ec2.LaunchTemplate:
        args = self._args
        group = self._security_group()
        # A template with groups of its own gets none from EKS: without the cluster's, nodes never join.
        primary: list[pulumi.Input[str]] = [args.cluster.security_group_id, group.id]
        return aws.ec2.LaunchTemplate(
            self._name,
            instance_type=args.instance.name,
            metadata_options=launch_template.metadata_options(),
            block_device_mappings=launch_template.root_volume(args.instance, args.host.root_volume_type),
            network_interfaces=launch_template.network_interfaces(
                interfaces(args.instance), primary, [group.id]
            ),
            user_data=launch_template.user_data(args.instance, parallel_pull=args.host.parallel_pull),
            tag_specifications=launch_template.tag_specifications(args.tags),
            capacity_reservation_specification=launch_template.reservation(
                args.capacity.reservation_id, args.capacity.reservation_group
            )
            if args.capacity.kind.prepaid
            else None,
            instance_market_options=launch_template.market(args.capacity.kind),
            placement=self._placement(),
            opts=self._child,
        )

    def _nodes(
        self,
        template: aws.ec2.LaunchTemplate,
        block: pulumi.Output[aws.ec2.GetCapacityBlockReservationResult] | None,
    ) -> aws.eks.NodeGroup:
        args = self._args
        role, attached = iam.role(
            f"{self._name}-node",
            "ec2.amazonaws.com",
            iam.node_policies(ssm=args.host.ssm),
            self._child,
            partition_of(region_of(next(iter(args.subnets)))),
        )
        gpu = args.instance.gpu
        assert gpu is not None, "checks refuse a pool without GPUs"
        return aws.eks.NodeGroup(
            self._name,
            cluster_name=args.cluster.name,
            node_role_arn=role.arn,
            subnet_ids=self._checked_subnets(block),
            ami_type=ami_type(args.instance),
            version=args.versions.kubernetes if args.versions else None,
            release_version=(
                node_release(self._name, args.instance, args.versions, self._child) if args.versions else None
            ),
            capacity_type=launch_template.capacity_type(args.capacity.kind),
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={
                "min_size": 0,
                "max_size": args.nodes,
                "desired_size": args.nodes if args.active else 0,
            },
            # The old node goes before its successor comes: a second one of these types can seldom be had, and is paid.
            update_config={"max_unavailable": 1, "update_strategy": "MINIMAL"},
            node_repair_config={"enabled": True},
            labels={**GpuNodes(product=GPU_PRODUCT[gpu]).labels, **args.labels},
            taints=[aws.eks.NodeGroupTaintArgs(**GPU_TAINT.on_node_group)],
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=attached,
                hooks=self._upgrade_guard(),
                ignore_changes=self._kept(),
                # A second set of such nodes can seldom be had.
                delete_before_replace=True,
            ),
        )

    def _kept(self) -> list[str]:
        """What of the group stays as it is, whatever the program says now."""
        return [
            *([] if self._upgrades_now() else ["launch_template", "version", "release_version"]),
            *([] if self._args.zones.named else ["subnet_ids"]),
        ]

    def _upgrades_now(self) -> bool:
        """A block has no spare instances to upgrade onto, so EKS upgrades its nodes only at size 0.

        The provider upgrades before it scales: the way to 0 must leave the template alone, and the way back takes both.
        """
        return self._args.active or self._args.capacity.kind is not CapacityKind.CAPACITY_BLOCK

    def _upgrade_guard(self) -> pulumi.ResourceHookBinding | None:
        if self._args.capacity.kind is not CapacityKind.CAPACITY_BLOCK:
            return None

        def refuse(change: pulumi.ResourceHookArgs) -> None:
            refuse_upgrade_of_running_nodes(change, self._name)

        preview_too = pulumi.ResourceHookOptions(on_dry_run=True)
        hook = pulumi.ResourceHook(f"{self._name}-upgrade", refuse, preview_too)
        return pulumi.ResourceHookBinding(before_update=[hook])

    def _checked_subnets(
        self, block: pulumi.Output[aws.ec2.GetCapacityBlockReservationResult] | None
    ) -> pulumi.Output[list[str]]:
        """The subnets, once EC2 has confirmed what was asked for."""
        args = self._args
        subnets = pulumi.Output.all(
            zones={zone: args.zones.real.get(zone, zone) for zone in args.subnets}, subnets=dict(args.subnets)
        ).apply(lambda known: by_real_zone(self._name, args, **known))
        if block is not None:
            answer = pulumi.Output.all(block=block, subnets=subnets, identity=args.capacity.reservation_id)
            return answer.apply(lambda known: in_block(self._name, args, **known))
        if args.capacity.kind.prepaid:
            return subnets.apply(lambda known: list(known.values()))
        offered = aws.ec2.get_instance_type_offerings_output(
            filters=[{"name": "instance-type", "values": [args.instance.name]}],
            location_type="availability-zone",
            opts=pulumi.InvokeOutputOptions(parent=self),
        )
        found = pulumi.Output.all(offered=offered, subnets=subnets).apply(
            lambda known: where_offered(self._name, args, **known)
        )
        # One zone is enough: cache, volumes and the way out are read across zones from any other.
        return found if args.zones.named else found.apply(lambda known: known[:1])
