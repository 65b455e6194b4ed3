"""What really happened between `up` and the first answer, read from the cluster, and which assumption was wrong. Data
flows one way: kubectl → observed → phases → comparison → text, JSON or picture."""
