"""CPU time of the steps of the pipeline, in microseconds.

python benchmarks/steps.py
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import PageContext
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

URL = "http://shop.example/list?page=3"
PAGE = Page(URL, 200, {}, b"", "utf-8", 1767960000.0)
CONTEXT = PageContext(URL, URL, PAGE.fetched_at)
ITEMS_PER_PAGE = 20
PAGES = 100
ROUNDS = 7

EIGHT: tuple[dict[str, Any], ...] = (
    {"use": "trim"},
    {"use": "whitespace"},
    {"use": "number", "fields": ["price"]},
    {"use": "integer", "fields": ["reviews"]},
    {"use": "url", "fields": ["url"]},
    {"use": "replace", "fields": ["sku"], "pattern": r"^SKU-0*", "with": ""},
    {"use": "required", "fields": ["title"]},
    {"use": "type", "fields": ["price"], "is": "number"},
)


def item(number: int) -> Item:
    return {
        "title": f"  Basket of plates number {number} ",
        "url": f"/p/{number}?ref=list",
        "price": f"€{number % 997}.99",
        "reviews": f"{number * 7:,}",
        "sku": f"SKU-{number:06d}",
        "brand": "Blanket & Sons",
        "stock": "In  stock",
        "description": "A basket for plates and bowls,\n  made by hand from willow and left as it grew.",
    }


def best(run: Any, count: int) -> float:
    """Return the microseconds per item of a call that does `count`, in the best of several rounds."""
    times = []
    for number in range(ROUNDS):
        started = time.process_time()
        run(number)
        times.append(time.process_time() - started)
    return min(times) / count * 1e6


def pipeline_us(steps: tuple[dict[str, Any], ...], *, logs: bool = False) -> float:
    columns = tuple(TableColumn(name) for name in item(0))
    pipeline = StepCompiler(partial(resolve, STEP), logs_cleaning=logs).compile_pipeline(steps, columns)
    assert pipeline is not None

    def run(number: int) -> None:
        for extraction in made[number]:
            pipeline.process(extraction, PAGE)

    first = range(0, ROUNDS * PAGES * ITEMS_PER_PAGE, PAGES * ITEMS_PER_PAGE)
    made = [
        [
            Extraction([item(start + at + more) for more in range(ITEMS_PER_PAGE)], [], URL)
            for at in range(0, PAGES * ITEMS_PER_PAGE, ITEMS_PER_PAGE)
        ]
        for start in first
    ]
    return best(run, PAGES * ITEMS_PER_PAGE)


def step_us(use: str, values: list[Any], **options: Any) -> tuple[float, float]:
    """Return the microseconds for new values and for repeated values."""
    new = best(
        lambda _: [
            resolved.apply(value, CONTEXT) for resolved in [resolve(STEP, use)(**options)] for value in values
        ],
        len(values),
    )
    step = resolve(STEP, use)(**options)
    few = values[:500]
    known = best(lambda _: [step.apply(value, CONTEXT) for _ in range(10) for value in few], 10 * len(few))
    return new, known


def dates(form: str) -> list[str]:
    return [time.strftime(form, time.gmtime(1_600_000_000 + number * 86_461)) for number in range(3000)]


def main() -> None:
    print(f"eight plain steps on an item of eight fields   {pipeline_us(EIGHT):8.1f}")
    print(f"  the same with the cleaning log               {pipeline_us(EIGHT, logs=True):8.1f}")
    for number, step in enumerate(EIGHT):
        print(f"  {number} {step['use']:43} {pipeline_us((step,)):9.2f}")
    print(f"{'one value':47}{'new':>9}{'known':>9}")
    rows: list[tuple[str, str, list[Any], dict[str, Any]]] = [
        ("date, explicit format", "date", dates("%d.%m.%Y %H:%M"), {"formats": ["%d.%m.%Y %H:%M"]}),
        ("date, second of two formats", "date", dates("%d/%m/%Y"), {"formats": ["%d.%m.%Y", "%d/%m/%Y"]}),
        ("date, ISO 8601", "date", dates("%Y-%m-%dT%H:%M:%SZ"), {}),
        ("date, Chinese", "date", dates("%Y年%m月%d日 %H:%M"), {"timezone": "Asia/Shanghai"}),
        ("date, relative", "date", [f"{number} hours ago" for number in range(3000)], {}),
        ("date, guessed in English", "date", dates("%b %d, %Y")[:200], {"languages": ["en"]}),
        ("date, guessed", "date", dates("%b %d, %Y")[:200], {}),
        ("number, with currency", "number", [f"{number:,}.50 EUR" for number in range(3000)], {}),
        ("number, 万", "number", [f"{number / 10}万" for number in range(3000)], {}),
        ("phone", "phone", [f"030 {number + 90_000_000}" for number in range(300)], {"region": "DE"}),
        ("email", "email", [f"mailto:Ann{number}@Example.com" for number in range(3000)], {}),
        ("html_text", "html_text", [f"<p>a <b>{number}</b></p><p>c</p>" for number in range(3000)], {}),
        ("markdown", "markdown", [f"<p>a <b>{number}</b></p><p>c</p>" for number in range(100)], {}),
        ("language", "language", [f"This is the sentence number {number}" for number in range(200)], {}),
    ]  # fmt: skip
    for title, use, values, options in rows:
        new, known = step_us(use, values, **options)
        print(f"  {title:45}{new:9.2f}{known:9.2f}")


if __name__ == "__main__":
    main()
