"""Until when EKS supports a Kubernetes release for its ordinary price. Pure.

Source: the release calendar of the EKS user guide (1.33, 1.34), and endoflife.date/amazon-eks, which follows it (1.35),
read 2026-11-21. `aws eks describe-cluster-versions` says it for the account.
"""

from datetime import date, timedelta

STANDARD_SUPPORT_ENDS = {
    "1.33": date(2026, 7, 29),
    "1.34": date(2026, 12, 2),
    "1.35": date(2027, 3, 27),
}
"""By release: the day from which AWS asks six times the price, or upgrades the cluster. Newer ones have no day here."""
_NOTICE = timedelta(days=60)


def in_extended_support(version: str, today: date) -> bool:
    """Whether the release has no standard support any more."""
    ends = STANDARD_SUPPORT_ENDS.get(version)
    return ends is not None and today >= ends


def support_note(version: str, today: date, *, extended: bool) -> str | None:
    """What there is to do about the release, from 60 days before its standard support ends; else None.

    extended: whether the cluster may stay on it then.
    """
    ends = STANDARD_SUPPORT_ENDS.get(version)
    if ends is None or today < ends - _NOTICE:
        return None
    then = "it costs 0.60 instead of 0.10 USD an hour" if extended else "AWS upgrades the cluster by itself"
    when = "left" if today >= ends else "leaves"
    return (
        f"cluster.version: Kubernetes {version} {when} EKS's standard support on {ends}; from then on {then}. Set it "
        f"to a newer release ({newest()} has the latest known end), one minor version at a time"
    )


def newest() -> str:
    """The release whose support ends last, of those with a known end."""
    return max(STANDARD_SUPPORT_ENDS, key=lambda version: STANDARD_SUPPORT_ENDS[version])
