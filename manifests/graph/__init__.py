"""A graph as its DynamoGraphDeployment: components, pods, placement, probes. Pure."""
