"""The other commands, and how the command line says no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.acceptance.workshop import (
    SUMMARY_KEYS,
    Workshop,
    html,
    linked,
    title_task,
    written_site,
)

from smartspider_testing.sites import demo_shop as expectations

pytestmark = pytest.mark.acceptance


def test_a_bad_task_names_the_path_and_the_nearest_key_and_leaves_no_trace(workshop: Workshop) -> None:
    task = title_task("http://127.0.0.1:9/")
    workshop.write(task | {"polteness": {}, "limits": {"max_page": 5}, "concurrency": 0})
    before = workshop.files()
    refused = workshop.crawl("-o", "rows.jsonl").expect(2)
    assert "polteness" in refused.err
    assert "politeness" in refused.err
    assert "limits.max_page" in refused.err
    assert "max_pages" in refused.err
    assert "concurrency" in refused.err
    assert refused.out == ""
    assert workshop.files() == before
    assert list(workshop.folder.iterdir()) == [workshop.folder / "task.json"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "line 1, column 2"),
        ("[]", "object"),
        ('{"name": "x", "entry_urls": []}', "entry_urls"),
        ("", "task"),
    ],
)
def test_a_file_that_is_no_task_is_told(workshop: Workshop, text: str, word: str) -> None:
    (workshop.folder / "task.json").write_text(text)
    refused = workshop.crawl().expect(2)
    assert word in refused.err
    assert "Traceback" not in refused.err
    assert workshop.files() == ["task.json"]


def test_a_missing_file_and_an_unknown_command_are_told(workshop: Workshop) -> None:
    missing = workshop.run("crawl", "nowhere.json").expect(3)
    assert "nowhere.json" in missing.err
    unknown = workshop.run("crwal").expect(2).err
    assert "'crwal'" in unknown
    assert "did you mean 'crawl'" in unknown
    assert "no such option '--nope'" in workshop.run("crawl", "--nope").expect(2).err
    for command in (("run", "list"), ("why", "http://127.0.0.1/"), ("fsck",)):
        assert "there is no data folder" in workshop.run(*command).expect(3).err
    assert workshop.files() == []


def test_what_is_not_built_is_refused_with_one_line(workshop: Workshop) -> None:
    workshop.write(title_task("http://127.0.0.1:9/", fetch={"mode": "browser"}))
    refused = workshop.crawl().expect(2)
    assert "fetch.mode" in refused.err
    assert "not supported" in refused.err
    assert workshop.files() == ["task.json"]


def test_help_imports_no_web_http_parser_or_validation_library(workshop: Workshop) -> None:
    heavy = ("aiohttp", "pydantic", "selectolax", "lxml", "apsw", "yarl", "uvloop", "yaml", "rich")
    code = (
        "import sys; from smartspider.cli.main import main; code = main(['--help']);"
        f"sys.stderr.write(' '.join(name for name in {heavy!r} if name in sys.modules)); sys.exit(code)"
    )
    finished = workshop.start_python("-c", code).wait().expect(0)
    assert finished.err == ""
    for name in ("demo", "init", "crawl", "why", "fsck", "doctor", "schema"):
        assert f"\n  {name}" in finished.out


@pytest.mark.parametrize(
    "command", ["crawl", "demo", "init", "validate", "fetch", "why", "run", "fsck", "doctor"]
)
def test_every_command_explains_itself(workshop: Workshop, command: str) -> None:
    finished = workshop.run(command, "--help").expect(0)
    assert "Usage:" in finished.out
    assert finished.err == ""


def test_init_writes_a_task_that_validates_and_is_not_overwritten(workshop: Workshop) -> None:
    workshop.run("init", "shop.json", "--url", "https://example.com/").expect(0)
    assert "is a valid task" in workshop.run("validate", "shop.json").expect(0).out
    assert workshop.run("validate", "shop.json", "--json").expect(0).json["valid"] is True
    text = (workshop.folder / "shop.json").read_text()
    assert "exists" in workshop.run("init", "shop.json").expect(4).err
    assert (workshop.folder / "shop.json").read_text() == text
    workshop.run("init", "shop.json", "--template", "list_detail", "--force").expect(0)
    assert (workshop.folder / "shop.json").read_text() != text
    workshop.run("validate", "shop.json").expect(0)


def test_validate_gives_every_problem_at_once(workshop: Workshop) -> None:
    workshop.write({"name": "bad name!", "entry_urls": ["ftp://x/"], "concurency": 3})
    answer = workshop.run("validate", "task.json", "--json").expect(2).json
    assert answer["valid"] is False
    assert {"name", "entry_urls[0]", "concurency"} <= {error["path"] for error in answer["errors"]}
    hints = {error["path"]: error["hint"] for error in answer["errors"]}
    assert "concurrency" in hints["concurency"]


def test_schema_is_a_json_schema_of_tasks(workshop: Workshop) -> None:
    schema = workshop.run("schema").expect(0).json
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"name", "entry_urls", "politeness", "pages"} <= set(schema["properties"])


def test_fetch_shows_the_page_as_a_crawl_gets_it(workshop: Workshop) -> None:
    routes = {
        "/": [html("front")],
        "/moved": [{"status": 302, "headers": {"Location": "/"}}],
        "/robots.txt": [
            {"body": "User-agent: *\nDisallow: /secret", "headers": {"Content-Type": "text/plain"}}
        ],
        "/secret": [html("secret")],
    }
    with written_site(workshop.folder, routes=routes) as site:
        plain = workshop.run("fetch", site.url("/")).expect(0)
        assert "<h1>front</h1>" in plain.out
        assert plain.err.startswith(f"200 {site.url('/')}")
        answer = workshop.run("fetch", site.url("/moved"), "--json").expect(0).json
        assert (answer["final_url"], answer["status"]) == (site.url("/"), 200)
        assert answer["redirects"] == [site.url("/moved")]
        refused = workshop.run("fetch", site.url("/secret")).expect(4)
        assert "Disallow: /secret" in refused.err
        assert "/secret" not in site.paths()
        assert "secret" in workshop.run("fetch", site.url("/secret"), "--ignore-robots").expect(0).out
        log = site.log()
        agents = {arrival.headers["user-agent"] for arrival in log}
        assert len(agents) == 1
        assert agents.pop().startswith("SmartSpider/")
    assert "connect" in workshop.run("fetch", site.url("/")).expect(5).err
    assert "is not an http" in workshop.run("fetch", "ftp://x/").expect(2).err


def test_why_tells_what_became_of_a_url(workshop: Workshop) -> None:
    routes = {
        "/": [html("/", ["/a", "/gone", "/moved", "/secret/x", "http://elsewhere.example/"])],
        "/a": [html("/a")],
        "/moved": [{"status": 301, "headers": {"Location": "/a"}}],
        "/robots.txt": [{"body": "User-agent: *\nDisallow: /secret"}],
    }
    with written_site(workshop.folder, routes=routes) as site:
        polite = {"delay_s": 0}
        workshop.write(title_task(site.url("/"), politeness=polite))
        workshop.crawl().expect(0)
        states = {
            path: workshop.why(site.url(path))["record"]["state"] for path in ("/", "/a", "/gone", "/moved")
        }
        assert states == {"/": "done", "/a": "done", "/gone": "missing", "/moved": "redirect"}
        assert workshop.why(f"{site.url('/a')}?utm_source=x#y")["record"]["parent"] == site.url("/")
        assert "Disallow: /secret" in workshop.why(site.url("/secret/x"))["verdict"]
        assert "not in the task's scope" in workshop.why("http://elsewhere.example/")["verdict"]
        assert "never found" in workshop.why(site.url("/unheard"))["verdict"]
        assert "fetched and stored" in workshop.run("why", site.url("/a")).expect(0).out
        workshop.run("why", site.url("/"), "--run", "9").expect(3)
        workshop.run("why", "not a url").expect(2)
        assert not any(path.startswith("/secret") for path in site.paths())


def test_runs_are_listed_shown_and_deleted(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl().expect(0)
        workshop.crawl().expect(0)
    listed = workshop.run("run", "list", "--json").expect(0).json
    assert {"task", "version", "success_count", "fail_count", "duration_s"} <= set(listed[0])
    assert not {"pages", "failed", "missing", "task_version", "outputs"} & set(listed[0])
    assert all(run["duration_s"] > 0.0 for run in listed)
    assert [run["run_id"] for run in listed] == ["2", "1"]
    assert "completed" in workshop.run("run", "list").out
    shown = workshop.run("run", "show", "1", "--json").expect(0).json
    assert (shown["state"], shown["counters"]["done"], shown["in_flight"]) == ("completed", 2, 0)
    assert shown["receipt"][0]["violations"] == 0
    assert workshop.run("run", "delete", "1", "--json").expect(0).json == {
        "run_id": "1",
        "deleted": True,
        "compacted": True,
    }
    assert [run["run_id"] for run in workshop.run("run", "list", "--json").json] == ["2"]
    assert "no run 1" in workshop.run("run", "show", "1").expect(3).err
    assert "no run 7" in workshop.run("run", "delete", "7").expect(3).err
    data = workshop.folder / ".smartspider/titles"
    assert [path.name for path in (data / "runs").iterdir()] == ["2.lock"]
    assert {path.name.split(".")[0] for path in (data / "logs").iterdir()} <= {"run-2", "run-2-worker-0"}
    assert workshop.run("fsck").expect(0).out.endswith("is consistent\n")


def test_fsck_finds_what_does_not_agree_and_mends_it(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a", "/b"], "/a": [], "/b": []})) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl().expect(0)
    connection = apsw.Connection(str(workshop.folder / ".smartspider/titles/smartspider.db"))
    connection.execute("UPDATE run SET done = done + 5")
    connection.execute("INSERT INTO item (id, url_id, data) VALUES (123, 456, '{}')")
    connection.close()
    found = workshop.run("fsck", "--json").expect(6).json
    assert {finding["code"] for finding in found} >= {"counters", "items"}
    assert "--repair" in workshop.run("fsck").expect(6).out
    workshop.run("fsck", "--repair").expect(0)
    assert workshop.run("fsck", "--json").expect(0).json == []
    connection = apsw.Connection(str(workshop.folder / ".smartspider/titles/smartspider.db"))
    connection.execute("UPDATE item SET data = replace(data, '/a', '/A')")
    connection.close()
    (damaged,) = workshop.run("fsck", "--repair", "--json").expect(6).json
    assert (damaged["code"], damaged["is_repaired"]) == ("damaged", False)
    refused = workshop.run("results", "export", "-o", "rows.jsonl").expect(5)
    assert damaged["message"] in refused.err
    assert not (workshop.folder / "rows.jsonl").exists()


def test_doctor_checks_the_installation_and_shows_sizes(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl().expect(0)
    answer = workshop.run("doctor", "--json").expect(0).json
    assert all(check["is_ok"] for check in answer["checks"])
    assert {"python", "sqlite", "free disk", "aiohttp"} <= {check["what"] for check in answer["checks"]}
    assert answer["folders"][".smartspider/titles"]["file"] > 0
    assert "BAD" not in workshop.run("doctor").expect(0).out


def test_doctor_tells_of_a_folder_that_cannot_be_used(workshop: Workshop) -> None:
    (workshop.folder / ".smartspider/broken").mkdir(parents=True)
    (workshop.folder / ".smartspider/broken/smartspider.db").write_bytes(b"no database at all" * 100)
    answer = workshop.run("doctor", "--json").expect(6).json
    assert [check["what"] for check in answer["checks"] if not check["is_ok"]] == [".smartspider/broken"]
    assert answer["folders"] == {}


def test_a_store_is_chosen_by_its_url_and_another_kind_of_store_is_refused(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(title_task(site.url("/")))
        env = {"SMARTSPIDER_STORE_URL": "sqlite:///kept/here"}
        workshop.crawl(env=env).expect(0)
        assert (workshop.folder / "kept/here/smartspider.db").exists()
        assert workshop.run("why", site.url("/"), env=env).expect(0).out.startswith("fetched")
    refusals = {
        "STORE": "SMARTSPIDER_STORE_URL is not a store URL",
        "FRONTIER": "SMARTSPIDER_FRONTIER_URL",
    }
    for name, why in refusals.items():
        env = {f"SMARTSPIDER_{name}_URL": "redis://me:secret@h/0"}
        for command in (("crawl", "task.json"), ("run", "list"), ("why", "http://h/"), ("doctor",)):
            refused = workshop.run(*command, env=env).expect(2)
            assert refused.err.startswith(f"error: {why}")
            assert "secret" not in refused.err


def test_a_setting_that_means_nothing_is_told(workshop: Workshop) -> None:
    workshop.write(title_task("http://127.0.0.1:9/"))
    refused = workshop.crawl(env={"SMARTSPIDER_LOG_LEVEL": "loud"}).expect(2)
    assert "SMARTSPIDER_LOG_LEVEL" in refused.err
    refused = workshop.crawl(env={"SMARTSPIDER_ALLOW_PRIVATE": "10.0.0.0/99"}).expect(2)
    assert "SMARTSPIDER_ALLOW_PRIVATE" in refused.err
    assert workshop.files() == ["task.json"]


def test_the_demo_finds_what_the_shop_has(workshop: Workshop) -> None:
    finished = workshop.run("demo", "--json", "-o", "shop.jsonl").expect(0)
    summary = finished.json
    assert list(summary) == SUMMARY_KEYS
    assert summary["pages"] == len(expectations.expected_pages())
    assert summary["items"] == expectations.EXPECTED_ITEMS
    assert (summary["missing"], summary["failed"]) == (expectations.EXPECTED_MISSING, 0)
    rows = sorted(workshop.rows("shop.jsonl"), key=lambda row: str(row["sku"]))
    base = str(rows[0]["url"]).rpartition("/product")[0]
    assert rows == sorted(expectations.expected_rows(base), key=lambda row: str(row["sku"]))
    counters = workshop.run("run", "show", "1", "--json").json["counters"]
    assert counters["redirect"] == expectations.EXPECTED_REDIRECTS
    assert counters["retries"] == expectations.EXPECTED_RETRIES


def test_the_demo_shows_its_rows_and_where_they_are(workshop: Workshop) -> None:
    shown = workshop.run("demo").expect(0)
    assert f"of {expectations.EXPECTED_ITEMS} rows" in shown.out
    path = Path(shown.out.rpartition("all rows: ")[2].strip())
    assert len((workshop.folder / path).read_text().splitlines()) == expectations.EXPECTED_ITEMS


def test_the_seed_task_of_the_contract_is_valid(workshop: Workshop, seed: dict[str, Any]) -> None:
    (workshop.folder / "seed.json").write_text(json.dumps(seed))
    assert workshop.run("validate", "seed.json", "--json").expect(0).json["valid"] is True
