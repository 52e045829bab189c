"""The politeness receipt at the end of a crawl."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.cli.output import count
from smartspider.core.runs.plan import Plan
from smartspider.store.runs.records import HostReceipt

SHOWN = 5


def receipt_lines(receipts: Sequence[HostReceipt], plan: Plan) -> list[str]:
    """How gently the hosts were treated, those with most requests first."""
    if not receipts:
        return []
    violations = sum(receipt.violations for receipt in receipts)
    robots = "robots.txt obeyed" if plan.politeness.obey_robots else "robots.txt ignored"
    lines = [f"politeness: {robots}, {count(violations, 'violation')} of a host's delay"]
    lines += [f"  {_line(receipt)}" for receipt in receipts[:SHOWN]]
    if len(receipts) > SHOWN:
        lines.append(f"  and {count(len(receipts) - SHOWN, 'host')} more")
    return lines


def _line(receipt: HostReceipt) -> str:
    text = f"{receipt.host}: {count(receipt.requests, 'request')}"
    if receipt.requests_per_s:
        text += f", {receipt.requests_per_s:.1f}/s on average"
    if receipt.smallest_gap_s is not None:
        text += f", smallest gap {receipt.smallest_gap_s:.3f} s (delay {receipt.asked_delay_s:g} s)"
    if receipt.refusals:
        text += f", {count(receipt.refusals, 'sign')} of trouble"
    return text
