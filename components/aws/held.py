"""What AWS answered once, kept: a newer answer must not move what runs."""

import pulumi


def held(
    name: str, answer: pulumi.Input[str], until: str, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """The answer as it was when it was first given for `until`, which the user changes to have it asked again."""
    kept: pulumi.Output[str] = pulumi.Stash(f"{name}-{until}", input=answer, opts=opts).output
    return kept
