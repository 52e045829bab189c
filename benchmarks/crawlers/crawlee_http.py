"""The job in Crawlee for Python at its leanest: HttpCrawler, parsel, memory storage, rows written by hand."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import TextIO

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector
from yarl import URL


async def crawl(entry: str, rows: TextIO, concurrency: int) -> None:
    service_locator.set_storage_client(MemoryStorageClient())
    crawler = HttpCrawler(
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency, max_concurrency=concurrency, desired_concurrency=concurrency
        ),
        configure_logging=False,
        respect_robots_txt_file=False,
        use_session_pool=False,
        retry_on_blocked=False,
        statistics_log_format="inline",
        request_handler_timeout=timedelta(minutes=5),
    )
    origin = URL(entry).origin()

    @crawler.router.default_handler  # type: ignore[untyped-decorator]  # crawlee lives in another venv
    async def handle(context: HttpCrawlingContext) -> None:
        tree = Selector(text=(await context.http_response.read()).decode())
        for card in tree.css(".card"):
            row = {
                "name": card.css(".name::text").get(),
                "price": card.css(".price::text").get(),
                "rating": card.css(".rating::attr(data-value)").get(),
                "seller": card.css(".seller a::text").get(),
                "summary": card.css(".summary::text").get(),
            }
            rows.write(json.dumps(row) + "\n")
        links = tree.css("a::attr(href)").getall()
        await context.add_requests([str(origin.join(URL(link))) for link in links])

    await crawler.run([entry])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entry")
    parser.add_argument("output")
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("crawlee").setLevel(logging.WARNING)
    with Path(options.output).open("w", encoding="utf-8") as rows:
        asyncio.run(crawl(options.entry, rows, options.concurrency))


if __name__ == "__main__":
    main()
