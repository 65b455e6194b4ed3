"""The cache of model weights: claims, buckets, copies, and the Job that fills it. Pure."""
