"""A bucket of models: `fill` puts them in, `fetch` copies them out. Both run in pods, through the AWS CLI."""
