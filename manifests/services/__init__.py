"""What graphs need on a cluster, as objects: charts' values, secrets, routes, autoscaling, an end. Pure."""
