"""Run `smartspider suggest` on labelled pages of real sites and count what its first answer has right.

python -m benchmarks.outside.real_pages [--half tune|held|blind] [--page KEY] [--reveal] [--json] [--jobs 2]
python -m benchmarks.outside.real_pages --check-labels [--half tune|held|blind] [--page KEY]

Pages are fetched when this runs (`sources.py`) and served on loopback. Of halves other
than tune, details are shown only with --reveal, and blind pages are run only with --half blind. Exits 1
below the figures asked. --check-labels compares labels with their pages, without `suggest`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, get_args

import msgspec
from benchmarks.outside.real_pages.check import check_label
from benchmarks.outside.real_pages.judge import Found, Judgement, judge
from benchmarks.outside.real_pages.labels import Half, Label, choose, read_labels
from benchmarks.outside.real_pages.site import Site, serve
from benchmarks.outside.sources import SourceUnavailable, open_source

LISTS, FIELDS, NEXT = 0.90, 0.85, 0.90
"""The shares asked; wrong next pages are never accepted."""


def main() -> int:
    options = _options()
    known = read_labels()
    if options.check_labels and options.half is None:
        chosen = [label for label in known if options.page in (None, label.key)]
    else:
        chosen = choose(known, options.half, options.page)
    labels = [label for label in chosen if _is_there(label)]
    if not labels:
        print("no page to run; blind pages need --half blind", file=sys.stderr)
        return 2
    if options.check_labels:
        return _check(labels)
    with ProcessPoolExecutor(options.jobs) as pool:
        results = list(pool.map(try_page, labels))
    totals = Totals(results)
    hidden = {label.key for label in labels if label.belongs_to != "tune" and not options.reveal}
    if options.json:
        pages = [{"key": each.key} if each.key in hidden else msgspec.to_builtins(each) for each in results]
        print(json.dumps({"totals": vars(totals), "pages": pages}, ensure_ascii=False, indent=1))
    else:
        print(totals.line())
        for result in results:
            print(f"  {result.key}" if result.key in hidden else _report(result))
    return 0 if totals.are_enough() else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Try `suggest` on labelled pages of real sites.")
    parser.add_argument(
        "--half", choices=get_args(Half), help="only these pages; without it, all but the blind"
    )
    parser.add_argument("--page", metavar="KEY", help="only this page")
    parser.add_argument("--reveal", action="store_true", help="show details of held and blind pages")
    parser.add_argument("--json", action="store_true", help="print totals and pages as JSON")
    parser.add_argument("--jobs", type=int, default=2, help="pages at a time")
    parser.add_argument("--check-labels", action="store_true", help="compare labels with their pages only")
    return parser.parse_args()


def _check(labels: list[Label]) -> int:
    """Print what does not fit in labels of HTML pages; nothing of `suggest` runs."""
    pages = [label for label in labels if label.type == "text/html"]
    wrong = 0
    for label in pages:
        faults = check_label(label, (open_source(label.source) / label.path).read_bytes())
        wrong += bool(faults)
        if faults:
            print(f"  {label.key}: {'; '.join(faults)}")
    others = len(labels) - len(pages)
    print(f"{len(pages) - wrong} of {len(pages)} labels fit their pages; not HTML, not checked: {others}")
    return 1 if wrong else 0


def _is_there(label: Label) -> bool:
    """Fetch the source of a page; say so if it cannot be had."""
    try:
        return (open_source(label.source) / label.path).is_file()
    except SourceUnavailable as error:
        print(f"left out: {label.key}: {error}", file=sys.stderr)
        return False


def try_page(label: Label) -> Judgement:
    """Run `suggest` on a page and judge its first candidate."""
    with serve(label, open_source(label.source)) as site:
        started = time.process_time()
        candidate, note = _suggest(site)
        cpu_s = time.process_time() - started
        html, found = _apply(site, candidate)
    return msgspec.structs.replace(judge(label, html, found, note), cpu_s=round(cpu_s, 2))


def _suggest(site: Site) -> tuple[dict[str, Any] | None, str]:
    """Return the first candidate of the command, or None and what it said."""
    from smartspider.cli.main import main as smartspider

    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            code = smartspider(["suggest", site.url, "--json"])
        except Exception as error:  # noqa: BLE001 - a crash is a result like any other
            return None, f"crashed: {error!r}"
    if code:
        return None, said.getvalue().strip()
    return json.loads(out.getvalue())["candidates"][0], ""


def _apply(site: Site, candidate: dict[str, Any] | None) -> tuple[str, Found | None]:
    """Extract the page with the task of a candidate, as a crawl does."""
    from urllib.parse import urljoin

    from smartspider.services.plans import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import parse_task
    from smartspider.wiring.preview.command_fetch import CommandFetcher, command_plan
    from smartspider.wiring.processes.lifecycle import run_loop

    page = run_loop(CommandFetcher(command_plan(site.url), obey_robots=False)(site.url))
    if candidate is None:
        return page.text, None
    plan = compile_task(parse_task(candidate["task"]))
    compiled = compile_plan(plan)
    extraction = compiled.extractor.extract(page, plan.entries[0])
    if compiled.pipeline is not None:
        extraction = compiled.pipeline.process(extraction, page)
    rows = [{name: site.restore(value) for name, value in row.items()} for row in extraction.items]
    links = [urljoin(extraction.base, link.href) for link in extraction.links if link.is_pagination]
    return page.text, Found(_selector(candidate["items"]), rows, [site.restore(link) for link in links])


def _selector(items: Any) -> str | None:
    if isinstance(items, str):
        return items
    return items["expr"] if isinstance(items, dict) and items.get("type", "css") == "css" else None


class Totals:
    """The figures of all pages."""

    def __init__(self, results: list[Judgement]) -> None:
        self.pages = len(results)
        self.lists = sum(result.list_right for result in results)
        self.right = sum(len(result.fields_right) for result in results)
        self.wanted = self.right + sum(len(result.fields_wrong) for result in results)
        verdicts = [result.next for result in results]
        self.next_right, self.next_wrong = verdicts.count("right"), verdicts.count("wrong")
        self.next_wanted = sum(result.has_next for result in results)
        self.slowest_s = max((result.cpu_s for result in results), default=0.0)

    def line(self) -> str:
        return (
            f"right list first on {_share(self.lists, self.pages)} pages, {_share(self.right, self.wanted)} "
            f"wanted fields, next page right on {_share(self.next_right, self.next_wanted)}, "
            f"wrong on {self.next_wrong}; slowest {self.slowest_s:.2f} s of CPU"
        )

    def are_enough(self) -> bool:
        return (
            self.lists >= LISTS * self.pages
            and self.right >= FIELDS * self.wanted
            and self.next_right >= NEXT * self.next_wanted
            and self.next_wrong == 0
        )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def _report(result: Judgement) -> str:
    fields = f"{len(result.fields_right)}/{len(result.fields_right) + len(result.fields_wrong)} fields"
    wrong = f" (not {', '.join(result.fields_wrong)})" if result.fields_wrong else ""
    mark = "ok  " if result.list_right else "LIST"
    return f"  {mark} {result.key}: {fields}{wrong}, next {result.next}; {result.note}"


if __name__ == "__main__":
    sys.exit(main())
