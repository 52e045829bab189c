"""The politeness receipt at the end of a crawl."""

from __future__ import annotations

from smartspider.cli.output import count, say
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.interfaces.store import HostReceipt, Store

SHOWN = 5


async def show_receipt(store: Store, run: Run, plan: Plan) -> None:
    """How gently the hosts were treated, those with most requests first."""
    receipts = await store.receipt(run.id)
    if not receipts:
        return
    violations = sum(receipt.violations for receipt in receipts)
    robots = "robots.txt obeyed" if plan.politeness.obey_robots else "robots.txt ignored"
    say(f"politeness: {robots}, {count(violations, 'violation')} of a host's delay")
    for receipt in receipts[:SHOWN]:
        say(f"  {_line(receipt)}")
    if len(receipts) > SHOWN:
        say(f"  and {count(len(receipts) - SHOWN, 'host')} more")


def _line(receipt: HostReceipt) -> str:
    text = f"{receipt.host}: {count(receipt.requests, 'request')}, {receipt.requests_per_s:.1f}/s on average"
    if receipt.smallest_gap_s is not None:
        text += f", smallest gap {receipt.smallest_gap_s:.3f} s (delay {receipt.asked_delay_s:g} s)"
    if receipt.refusals:
        text += f", {count(receipt.refusals, 'sign')} of trouble"
    return text
