"""The cache of model weights, on any cluster and on AWS's storage."""
