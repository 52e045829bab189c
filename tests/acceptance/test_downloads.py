"""Files that items name are downloaded as requests of the run."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.server import ENVIRONMENT, served
from tests.acceptance.workshop import Site, Workshop, is_running, until, written_site

pytestmark = pytest.mark.acceptance

STEP = {"use": "download", "fields": ["image"]}


def picture(text: str, **more: Any) -> list[dict[str, Any]]:
    """Return the answer with a picture."""
    return [{"body": text, "headers": {"Content-Type": "image/png"}, **more}]


def product_list(*sources: str) -> list[dict[str, Any]]:
    """Return the answer with a list of products and their pictures."""
    items = "".join(f'<li><b>{number}</b><img src="{source}">' for number, source in enumerate(sources))
    return [{"body": f"<ul>{items}</ul>"}]


def picture_task(site: Site, *steps: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": "pictures",
        "entry_urls": [site.url("/list")],
        "selectors": {"items": "li", "fields": {"n": "b::text", "image": "img::attr(src)"}},
        "pipeline": list(steps or [STEP]),
        "politeness": {"robots": "ignore", "delay_s": 0, "adaptive": False},
        "retry": {"max_attempts": 2, "backoff_s": 0},
        **more,
    }


def data_of(workshop: Workshop) -> Path:
    return workshop.folder / ".smartspider" / "pictures"


def test_rows_have_their_files_and_failures_are_null_and_explained(workshop: Workshop) -> None:
    routes = {
        "/list": product_list(
            "a.png", "/b.png", "gone.png", "big.png", "data:image/png;base64,x", "a.png", "hop"
        ),
        "/a.png": picture("same"),
        "/b.png": picture("same"),
        "/big.png": picture("x" * 5000),
        "/hop": [{"status": 302, "headers": {"Location": "/landing"}}],
        "/landing": picture("landed"),
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(picture_task(site, {**STEP, "max_bytes": 1000}))
        done = workshop.crawl("-o", "rows.jsonl", "-o", "rows.csv").expect(7)
        assert site.paths().count("/a.png") == 1
        big, gone = site.url("/big.png"), site.url("/gone.png")
    assert (done.json["files"], done.json["missing"], done.json["failed"]) == (3, 1, 1)
    same, landed = (hashlib.sha256(text).hexdigest() for text in (b"same", b"landed"))
    images = [row["image"] for row in workshop.rows()]
    assert [image and image["path"] for image in images] == [
        *(f"files/{same}.png", f"files/{same}.png", None, None, None, f"files/{same}.png"),
        f"files/{landed}.png",
    ]
    assert images[0] == {
        "path": f"files/{same}.png",
        "url": site.url("/a.png"),
        "sha256": same,
        "bytes": 4,
        "type": "image/png",
    }
    assert (data_of(workshop) / images[0]["path"]).read_bytes() == b"same"
    assert sorted(path.name for path in (data_of(workshop) / "files").iterdir()) == sorted(
        [f"{same}.png", f"{landed}.png"]
    )
    with (workshop.folder / "rows.csv").open(newline="") as file:
        cells = [row["image"] for row in csv.DictReader(file)]
    assert json.loads(cells[0])["path"] == f"files/{same}.png"
    assert cells[2] == ""
    assert "max_bytes of the step 'download'" in workshop.why(big)["verdict"]
    assert workshop.why(gone)["record"]["state"] == "missing"


def test_a_row_can_have_the_path_alone_under_a_name_of_choice(workshop: Workshop) -> None:
    routes = {"/list": product_list("red-shoe.png"), "/red-shoe.png": picture("shoe")}
    with written_site(workshop.folder, routes=routes) as site:
        step = {**STEP, "value": "path", "folder": "shop/images", "name": "{name}.{ext}"}
        workshop.write(picture_task(site, step))
        workshop.crawl("-o", "rows.csv").expect(0)
    assert (workshop.folder / "rows.csv").read_text().splitlines() == [
        "n,image",
        "0,shop/images/red-shoe.png",
    ]
    assert (data_of(workshop) / "shop/images/red-shoe.png").read_bytes() == b"shoe"


def test_files_come_from_other_hosts_and_obey_their_robots(workshop: Workshop) -> None:
    pictures = {
        "/a.png": picture("a"),
        "/secret/b.png": picture("b"),
        "/robots.txt": [{"body": "User-agent: *\nDisallow: /secret/"}],
    }
    with written_site(workshop.folder, routes=pictures, hosts=["127.0.0.1", "127.0.0.2"]) as cdn:
        base = f"http://127.0.0.2:{cdn.port}"
        routes = {"/list": product_list(f"{base}/a.png", f"{base}/secret/b.png")}
        with written_site(workshop.folder, routes=routes) as site:
            task = picture_task(site, {**STEP, "value": "path"})
            task["politeness"] = {"delay_s": 0, "adaptive": False}
            workshop.write(task)
            done = workshop.crawl("-o", "rows.jsonl", env={"SMARTSPIDER_ALLOW_PRIVATE": "1"}).expect(0)
        assert "/secret/b.png" not in cdn.paths()
    first, second = (row["image"] for row in workshop.rows())
    assert (bool(first), second) == (True, None)
    assert done.json["left_out_count"] == 1


def test_limits_of_pages_and_items_keep_the_files_of_stored_rows(workshop: Workshop) -> None:
    routes = {"/list": product_list("1.png"), **{f"/{n}.png": picture(str(n)) for n in range(9)}}
    routes["/list"][0]["body"] += "".join(f'<a href="/page{n}">x</a>' for n in range(5))
    routes |= {f"/page{n}": product_list(f"{n + 2}.png") for n in range(5)}
    with written_site(workshop.folder, routes=routes) as site:
        step = {**STEP, "value": "path"}
        workshop.write(
            picture_task(site, step, follow=[{"selector": "a"}], limits={"max_pages": 3}, concurrency=1)
        )
        done = workshop.crawl("-o", "rows.jsonl").expect(0)
    assert done.json["reason"] == "limit: max_pages 3 reached"
    rows = workshop.rows()
    assert len(rows) == 3
    assert all(row["image"] for row in rows), rows


def test_a_dry_run_downloads_nothing_and_says_so(workshop: Workshop) -> None:
    routes = {"/list": product_list("a.png"), "/a.png": picture("a")}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(picture_task(site))
        done = workshop.run("dry-run", "task.json").expect(0)
        assert site.paths() == ["/list"]
    assert "not downloaded in a dry run" in done.out
    assert site.url("/a.png") in done.out


@pytest.mark.parametrize("workers", [1, 2])
def test_no_file_is_lost_or_doubled_by_kill_nine(workshop: Workshop, workers: int) -> None:
    count = 60
    routes: dict[str, Any] = {
        f"/list{n}": product_list(*(f"/{n}-{m}.png" for m in range(10))) for n in range(6)
    }
    names = [f"{n}-{m}" for n in range(6) for m in range(10)]
    routes |= {f"/{name}.png": picture(f"picture {name}", delay_s=0.02) for name in names}
    with written_site(workshop.folder, routes=routes) as site:
        task = picture_task(site, {**STEP, "value": "path", "name": "{name}.{ext}"})
        task["entry_urls"] = [site.url(f"/list{n}") for n in range(6)]
        task["politeness"]["per_host"] = 4
        workshop.write(task)
        for stop_at in (15, 35):
            running = workshop.start("crawl", "task.json", "-o", "rows.jsonl", "--workers", workers)
            until(lambda stop_at=stop_at: len(site.paths()) >= stop_at, "some downloads")  # type: ignore[misc]
            workers_of = running.workers()
            running.kill()
            until(lambda pids=workers_of: not any(map(is_running, pids)), "its workers to leave")  # type: ignore[misc]
        done = workshop.crawl("-o", "rows.jsonl", "--workers", workers).expect(0)
    assert done.json["files"] == count
    rows = workshop.rows()
    assert sorted(row["image"] for row in rows) == sorted(f"files/{name}.png" for name in names)
    stored = {path.name: path.read_text() for path in (data_of(workshop) / "files").iterdir()}
    assert {name: text for name, text in stored.items() if not name.startswith(".")} == {
        f"{name}.png": f"picture {name}" for name in names
    }
    assert workshop.run("fsck", "--data", data_of(workshop)).code == 0


def test_a_server_downloads_into_its_data_folder(workshop: Workshop) -> None:
    routes = {"/list": product_list("a.png"), "/a.png": picture("a")}
    with (
        written_site(workshop.folder, routes=routes) as site,
        served(workshop, "--workers", "2", environment=ENVIRONMENT) as server,
    ):
        run_id = server.begin(server.create(picture_task(site)))
        server.until_state(run_id, "completed")
        (row,) = server.rows(run_id)
        (listed,) = server.ask("GET", f"/api/results?run_id={run_id}").expect(200).json["items"]
        (file,) = server.ask("GET", f"/api/runs/{run_id}/files").expect(200).json["items"]
        sent = server.ask("GET", f"/api/runs/{run_id}/files/{file['id']}").expect(200)
        assert server.ask("GET", f"/api/runs/{run_id}").expect(200).json["files"] == 1
        target = ("--server", server.url, "--token", server.token)
        copied = workshop.run("results", "files", "-o", "copies", *target)
    assert listed["data"] == row
    assert (workshop.folder / "data" / row["image"]["path"]).read_text() == "a"
    assert (file["path"], file["url"], file["bytes"]) == (row["image"]["path"], site.url("/a.png"), 1)
    assert sent.body == b"a"
    assert copied.code == 0, copied.err
    assert (workshop.folder / "copies" / file["path"]).read_text() == "a"
