"""Pools of proxies: who may change them, and that no answer shows a password."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import Forbidden, RequestInvalid
from smartspider.core.proxies import parse_proxy_url
from smartspider.services.identities import proxies
from smartspider.services.metrics import gather_metrics
from smartspider.services.runs.stall import explain_stall
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.opening import open_folder
from smartspider.wiring.proxy_check import check_proxy

CANARY = "canary-71c3"


def holding(folder: Path, text: str) -> list[Path]:
    """Return the files that hold a text."""
    return [one for one in folder.rglob("*") if one.is_file() and text.encode() in one.read_bytes()]


ANN, BOB = Principal("ann", "admin"), Principal("bob", "operator")


@pytest.mark.parametrize(
    ("text", "url", "address"),
    [
        ("http://h:3128", "http://h:3128", "h:3128"),
        ("HTTPS://u:p%40w@H.example/", "https://u:p%40w@h.example:443", "h.example:443"),
        (" socks5h://u@[::1]:1080\n", "socks5h://u@[::1]:1080", "[::1]:1080"),
        ("socks5://1.2.3.4", "socks5://1.2.3.4:1080", "1.2.3.4:1080"),
    ],
)
def test_the_url_of_a_proxy_has_its_port_and_keeps_its_password(text: str, url: str, address: str) -> None:
    found = parse_proxy_url(text)
    assert (found.url, found.address) == (url, address)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h:3128",
        "socks4://h:1",
        "ftp://canary:canary@h:1",
        "http://canary:canary@",
        "http://h:canary",
        "http://h:99999",
        "http://canary:can/ary@h:1",
        "http://h:1/canary",
        "http://h:1?canary",
        "http://canary canary@h:1",
        "http://[canary:1",
        "http://cänary@h:1",
    ],
)
async def test_what_is_no_proxy_url_is_refused_without_repeating_it(tmp_path: Path, text: str) -> None:
    with open_folder(tmp_path) as folder:
        with pytest.raises(RequestInvalid) as refused:
            await proxies.add_proxy(folder, ANN, text, pool="dc", weight=1.0)
        assert refused.value.problems[0].path == "url"
        assert refused.value.hint
        assert "canary" not in f"{refused.value.message} {refused.value.hint}"
        assert await folder.vault.proxies.find() == []


@pytest.mark.parametrize(
    ("pool", "weight", "path"), [("a b", 1.0, "pool"), ("x" * 101, 1.0, "pool"), ("dc", 0.0, "weight")]
)
async def test_a_bad_pool_or_weight_is_refused(tmp_path: Path, pool: str, weight: float, path: str) -> None:
    with open_folder(tmp_path) as folder:
        with pytest.raises(RequestInvalid) as refused:
            await proxies.add_proxy(folder, ANN, "http://h:1", pool=pool, weight=weight)
        assert refused.value.problems[0].path == path


async def test_only_admins_change_pools(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        id_ = int((await proxies.add_proxy(folder, ANN, "http://h:1", pool="dc", weight=1.0)).id)
        for refused in (
            proxies.add_proxy(folder, BOB, "http://h:2", pool="other", weight=1.0),
            proxies.ban_proxy(folder, BOB, id_, 60),
            proxies.remove_proxy(folder, BOB, id_),
            check_proxy(folder, BOB, id_, "http://example.com/"),
        ):
            with pytest.raises(Forbidden):
                await refused
        assert (await proxies.ban_proxy(folder, ANN, id_, 60)).banned
        assert not (await proxies.ban_proxy(folder, ANN, id_, 0)).banned
        await proxies.remove_proxy(folder, ANN, id_)
        assert (await proxies.list_proxies(folder, pool=None, cursor=None, limit=10)).items == []


async def test_a_password_stands_in_no_answer_and_no_file(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        url = f"socks5://ann:{CANARY}@proxy.example:1080"
        made = await proxies.add_proxy(folder, ANN, url, pool="dc", weight=1.0)
        listed = await proxies.list_proxies(folder, pool="dc", cursor=None, limit=10)
        assert CANARY.encode() not in msgspec.json.encode([made, listed])
        assert made.url == "socks5://proxy.example:1080"
        opened = await folder.vault.open_proxies([int(made.id)], opened_by="run:1")
        assert opened == {int(made.id): url}
        assert await folder.vault.verify() == (1, [])
    assert holding(tmp_path, CANARY) == []


async def test_a_run_whose_proxies_are_all_banned_says_so_and_metrics_count_them(tmp_path: Path) -> None:
    spec = {
        "name": "far",
        "entry_urls": ["http://a.example/"],
        "selectors": {"fields": {"title": "h1"}},
        "fetch": {"proxy_pool": "dc"},
    }
    with open_folder(tmp_path, shares_gates=False) as folder:
        made = await proxies.add_proxy(folder, ANN, "http://h:1", pool="dc", weight=1.0)
        run = await folder.store.create_run(compile_task(parse_task(spec)), actor="ann")
        assert (await explain_stall(folder, run.id)).causes[0].code != "no_proxy"
        await proxies.ban_proxy(folder, ANN, int(made.id), 60)
        (cause,) = (await explain_stall(folder, run.id)).causes
        assert cause.code == "no_proxy"
        assert "proxy 1 failed" in cause.what
        families = {family.name: family.values for family in (await gather_metrics(folder))[0]}
        assert families["smartspider_proxies"] == {(("state", "free"),): 0, (("state", "banned"),): 1}
