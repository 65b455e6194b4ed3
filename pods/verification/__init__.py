"""Whether a Dynamo graph really serves GPT-OSS: a conversation with it, check by check.

Running pods prove little: the frontend calls itself healthy without a worker, a dead worker stays listed for some
seconds, and a broken KV transfer can give HTTP 200 with nothing in it. So every claim is tried. What a release cannot
tell is skipped by its name (`expectation.TELLS`); what it can tell is demanded.

A package on the standard library alone: it is also mounted into an unprivileged Job of the cluster and run there:
`python -m verification --url URL --model ID --roles prefill,decode --disaggregated --dynamo-version 1.2.1 --json`.
"""
