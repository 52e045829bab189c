"""A schedule in the console: written with a preview, started, paused and deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import grave_findings
from tests.acceptance.server import Server

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console schedules")]


def test_a_schedule_is_created_started_paused_and_deleted(server: Server, visit: Visit) -> None:
    shop = server.greeting["shop"]
    task = {"name": "nightly", "entry_urls": [shop], "selectors": {"fields": {"title": "h1"}}}
    task_id = server.create(task)
    page = visit().sign_in("/schedules")
    expect(page.get_by_text("No task is scheduled.")).to_be_visible()
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Task", exact=True).fill("nightly")
    dialog.get_by_label("Cron expression").fill("61 * * * *")
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create")).to_be_disabled()
    dialog.get_by_label("Cron expression").fill("30 4 * * 1-5")
    expect(dialog.get_by_text("At 04:30, Monday through Friday")).to_be_visible()
    expect(dialog.get_by_role("listitem")).to_have_count(5)
    assert grave_findings(page) == []
    dialog.get_by_role("button", name="Create").click()
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="Monday through Friday")
    row.get_by_role("gridcell").nth(3).click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("row")).to_have_count(6)
    drawer.get_by_role("button", name="Start now").click()
    expect(drawer.get_by_text("started", exact=False).first).to_be_visible()
    assert grave_findings(page) == []
    drawer.get_by_role("button", name="Pause").click()
    expect(row.get_by_text("paused")).to_be_visible()
    (schedule,) = server.ask("GET", f"/api/schedules?task_id={task_id}").expect(200).json["items"]
    assert (schedule["cron"], schedule["enabled"]) == ("30 4 * * 1-5", False)
    drawer.get_by_role("button", name="Delete").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No task is scheduled.")).to_be_visible()
    (run,) = server.ask("GET", "/api/runs").expect(200).json["items"]
    assert run["task"] == "nightly"


def test_the_sentence_of_a_schedule_is_chinese_too(server: Server, visit: Visit) -> None:
    task = {"name": "weekly", "entry_urls": [server.greeting["shop"]], "schedule": "0 9 * * 1"}
    server.create(task)
    page = visit(locale="zh-CN").sign_in("/schedules")
    expect(page.get_by_text("在上午 09:00, 仅星期一").or_(page.get_by_text("星期一"))).to_be_visible()
