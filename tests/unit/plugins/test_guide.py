"""The layer and the transport that CONTRIBUTING.md shows, with a channel, as packages that are installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import NotBuilt, RequestInvalid, TaskInvalid
from smartspider.core.notifications import NotificationTarget
from smartspider.core.runs.run import Counters, Run
from smartspider.services.doctor import DoctorCheck, check_installation
from smartspider.services.notifications.targets import create_target, list_channels, send_test
from smartspider.services.plans import run_columns, run_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.schema import task_schema
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.opening import open_folder
from smartspider_testing.plugin_packages import install_package

GUIDE = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
CHANNEL = """
from smartspider.core.errors import RequestInvalid
from smartspider.services.notifications.notifier import ChannelAddress

sent = []


class PigeonChannel:
    address = ChannelAddress("url", "https://loft.example.com/1")

    def __init__(self, installation): ...

    def lacks(self):
        return ""

    def check_address(self, address):
        if "loft" not in address:
            raise RequestInvalid("the address is no loft")

    def secret(self, target_id):
        return None

    async def send(self, target, message):
        sent.append((target.address, message.body))
"""
TASK: dict[str, Any] = {
    "name": "echoed",
    "entry_urls": ["http://h.example/a?b=1"],
    "fetch": {"mode": "echo"},
    "layers": [{"use": "stamp", "text": "signed"}, {"use": "hmac", "secret": "k"}],
    "politeness": {"delay_s": 0, "robots": "ignore"},
    "selectors": {"fields": {"text": "body", "url": {"type": "meta", "expr": "url"}}},
}
STAMP = """
import msgspec


class Stamp:
    def __init__(self, text: str):
        self.text = text

    def before_request(self, request):
        return msgspec.structs.replace(request, url=request.url + f"&stamp={self.text}")
"""
ANN = Principal("ann", "admin")


def shown(name: str) -> tuple[str, str]:
    """Return the source and the entry points of a package of the guide."""
    (source,) = re.findall(rf'^```python\n("""{name}\.py.*?)^```', GUIDE, re.MULTILINE | re.DOTALL)
    (points,) = re.findall(rf'^\[project\.entry-points\."(.+)"\]\n(\w+ = "{name}.+)\n', GUIDE, re.MULTILINE)
    return source, f"[{points[0]}]\n{points[1].replace(chr(34), '')}\n"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site-packages"
    install_package(folder, "spider-echo", *shown("spider_echo"))
    install_package(folder, "spider-sign", *shown("spider_sign"))
    install_package(folder, "spider-stamp", STAMP, "[smartspider.layers]\nstamp = spider_stamp:Stamp\n")
    install_package(
        folder, "spider-pigeon", CHANNEL, "[smartspider.channels]\npigeon = spider_pigeon:PigeonChannel\n"
    )
    monkeypatch.syspath_prepend(folder)
    yield folder
    for module in ("spider_echo", "spider_sign", "spider_stamp", "spider_pigeon"):
        sys.modules.pop(module, None)


async def test_an_installed_mode_and_layer_crawl(tmp_path: Path) -> None:
    plan = compile_task(parse_task(TASK))
    with open_folder(tmp_path / "data") as folder:
        run = await folder.store.create_run(plan)
        run = await folder.store.set_state(run.id, "running")
        ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
        rows = [row async for batch in folder.store.items(run.id) for row in batch]
    assert (ended.state, *ended.needs) == ("completed", "echo")
    assert [msgspec.json.decode(row.data) for row in rows] == [
        {"text": "http://h.example/a?b=1&stamp=signed", "url": "http://h.example/a?b=1"}
    ]


def test_the_schema_lists_the_modes_that_are_installed() -> None:
    modes = task_schema()["$defs"]["Fetch"]["properties"]["mode"]["enum"]
    assert modes == ["http", "browser", "impersonate", "echo"]


def test_a_mode_that_is_not_installed_is_refused_with_those_there_are() -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({**TASK, "fetch": {"mode": "ecko"}})
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (
        "fetch.mode",
        "\"ecko\" is not one of http, browser, impersonate, echo (did you mean 'echo'?)",
    )


def test_rows_outlive_the_package_of_their_mode_and_layers() -> None:
    removed = {**TASK, "fetch": {"mode": "removed"}, "layers": [{"use": "removed"}]}
    run = Run(1, "echoed", msgspec.json.encode(removed), "", "completed", "", Counters(), 0, 0.0)
    assert [column.name for column in run_columns(run)] == ["text", "url"]
    with pytest.raises(NotBuilt, match=r"fetch\.mode"):
        run_plan(run)


async def test_an_installed_channel_delivers(tmp_path: Path) -> None:
    from importlib import import_module

    with open_folder(tmp_path / "data") as folder:
        assert {"email", "pigeon", "slack", "webhook"} == {one.kind for one in list_channels(folder).items}
        target = await create_target(
            folder, ANN, "pigeon", "https://loft.example.com/7", events=["run.failed"], task=None
        )
        tried = await send_test(folder, ANN, int(target.id))
        with pytest.raises(RequestInvalid, match="no loft"):
            await create_target(folder, ANN, "pigeon", "https://h.example", events=["run.failed"], task=None)
    assert (tried.delivered, tried.error) == (True, "")
    ((address, body),) = import_module("spider_pigeon").sent
    assert (address, msgspec.json.decode(body)["event"]) == ("https://loft.example.com/7", "test")


async def test_a_channel_that_is_not_installed_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with open_folder(tmp_path / "data") as folder, pytest.raises(RequestInvalid) as caught:
        await create_target(folder, ANN, "pigeom", "https://h.example", events=["run.failed"], task=None)
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == ("kind", "there is no channel 'pigeom'")
    assert problem.hint == "did you mean 'pigeon'? known: email, pigeon, slack, webhook"


async def test_a_message_through_a_removed_channel_fails_and_says_why(tmp_path: Path) -> None:
    from smartspider.core.errors import DeliveryFailed
    from smartspider.services.notifications.notifier import Message, Notifier

    target = NotificationTarget(1, "gone", "https://h.example", ("run.failed",), None, True, "ann", 0.0)
    with (
        open_folder(tmp_path / "data") as folder,
        pytest.raises(DeliveryFailed, match="there is no channel 'gone'"),
    ):
        await Notifier(folder).deliver(target, Message("1", b"{}"))


def test_doctor_lists_what_is_installed_and_what_cannot_be_used(installed: Path) -> None:
    install_package(installed, "spider-bad", "", "[smartspider.channels]\nbad = spider_bad:Bad\n")
    install_package(installed, "spider-json", "class J: ...", "[smartspider.layers]\njson = spider_json:J\n")
    found = {one.what: one for one in check_installation()}
    assert found["transport echo"] == DoctorCheck("transport echo", is_ok=True, detail="spider-echo 1.0")
    assert found["layer hmac"] == DoctorCheck("layer hmac", is_ok=True, detail="spider-sign 1.0")
    assert found["channel pigeon"].is_ok
    bad, same = found["channel bad"], found["layer json"]
    assert (bad.is_ok, same.is_ok) == (False, False)
    assert "the channel plug-in 'bad' of spider-bad 1.0 cannot be loaded: AttributeError" in bad.detail
    assert same.detail == "spider-json 1.0: the name is that of a built-in one, which is used"
