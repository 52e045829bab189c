"""The job in Scrapy, as an ordinary project does it: items, a feed of JSON lines, optionally a JOBDIR.

`--past-pipeline` writes the rows in the callback instead, which spares Scrapy its cost per item.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response


class Card(scrapy.Item):  # type: ignore[misc]  # scrapy brings no types we could check against
    name = scrapy.Field()
    price = scrapy.Field()
    rating = scrapy.Field()
    seller = scrapy.Field()
    summary = scrapy.Field()


class CardSpider(scrapy.Spider):  # type: ignore[misc]  # as above
    name = "cards"

    def __init__(self, entry: str, past_pipeline: str | None = None) -> None:
        super().__init__()
        self._entry = entry
        self._rows = Path(past_pipeline).open("w", encoding="utf-8") if past_pipeline else None  # noqa: SIM115 - closed()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self._entry)  # unlike start_urls this one is known to the duplicate filter

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        for card in response.css(".card"):
            row = {
                "name": card.css(".name::text").get(),
                "price": card.css(".price::text").get(),
                "rating": card.css(".rating::attr(data-value)").get(),
                "seller": card.css(".seller a::text").get(),
                "summary": card.css(".summary::text").get(),
            }
            if self._rows is None:
                yield Card(row)
            else:
                self._rows.write(json.dumps(row) + "\n")
        yield from response.follow_all(css="a[href]", callback=self.parse)

    def closed(self, _reason: str) -> None:
        if self._rows is not None:
            self._rows.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entry")
    parser.add_argument("output")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--jobdir")
    parser.add_argument("--past-pipeline", action="store_true")
    options = parser.parse_args()
    settings: dict[str, Any] = {
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": options.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": options.concurrency,
    }
    if options.jobdir:
        settings["JOBDIR"] = options.jobdir
    if not options.past_pipeline:
        settings["FEEDS"] = {options.output: {"format": "jsonlines", "overwrite": True}}
    process = CrawlerProcess(settings)
    process.crawl(
        CardSpider, entry=options.entry, past_pipeline=options.output if options.past_pipeline else None
    )
    process.start()


if __name__ == "__main__":
    main()
