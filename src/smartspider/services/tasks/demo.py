"""Start the bundled tasks of the demo shop."""

from __future__ import annotations

from smartspider.core.access import Principal
from smartspider.core.errors import NotFound
from smartspider.core.runs.run import Run
from smartspider.installation.installation import Installation
from smartspider.services.runs.start import start_run
from smartspider.services.tasks import saving
from smartspider.services.tasks.checks import check_document
from smartspider.services.tasks.tasks import find_own_task


async def start_demo(installation: Installation, principal: Principal, name: str) -> Run:
    """Save a bundled task for the shop of this server, unless it is saved already, and start a run of it."""
    from smartspider.demo.shop import demo_task

    shop = installation.settings.demo_shop
    if not shop:
        raise NotFound("this server has no demo shop", hint="start it with `smartspider up --demo`")
    document = demo_task(shop, name)
    checked = await check_document(installation, document, principal.name)
    try:
        task = await find_own_task(installation, checked.spec.name, principal)
    except NotFound:
        await saving.create(installation, principal, checked)
    else:
        await saving.change(installation, principal, task, checked)
    return await start_run(installation, principal, await installation.tasks.get(checked.spec.name))
