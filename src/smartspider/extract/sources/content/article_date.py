"""The date of an article, as its page shows it."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.sources.content.main_content import find_main, is_hidden, is_navigation
from smartspider.extract.sources.values import to_iso_date

_META = ", ".join(
    f'meta[{attribute}="{name}" i][content]'
    for attribute, name in (
        ("itemprop", "datePublished"),
        ("name", "article:published_time"),
        ("name", "datePublished"),
        ("name", "date"),
        ("name", "pubdate"),
        ("name", "publishdate"),
        ("name", "publication_date"),
        ("name", "parsely-pub-date"),
        ("name", "sailthru.date"),
        ("name", "dc.date"),
        ("name", "dc.date.issued"),
        ("name", "dcterms.created"),
    )
)
_MARKED = "[itemprop=datePublished], time[pubdate], time.published, time.entry-date, .dt-published"
_OTHERS = re.compile(
    r"(?:^|[\s_-])(?:comments?|replies|related|recommend\w*|recent|latest|popular|trending|teasers?|widget|sidebar|"
    r"more|events?|calendar|clock|ticker|updated|modified|edited)(?:$|[\s_-])"
)
"""Names of elements whose dates are those of something else."""
_MOST_TIMES = 50


def find_article_date(document: Document) -> str | None:
    """Return the date of publication that the page declares, or shows in its article; None if no date is
    clearly that of the article.
    """
    root = document.root
    for node in root.css(_META):
        if found := to_iso_date(node.attributes.get("content")):
            return found
    main = find_main(document)
    marked = _dates(root.css(_MARKED)[:_MOST_TIMES])
    if marked:
        return marked[0]
    dates = _dates(main.css("time[datetime]")[:_MOST_TIMES])
    if main.tag != "body":
        return dates[0] if dates else None
    # Without an article, only a date that is alone can be that of the page.
    return dates[0] if len(set(dates)) == 1 else None


def days_of_times(document: Document) -> set[str]:
    """Return the days of all `time` elements of the page."""
    nodes = document.root.css("time[datetime]")[: _MOST_TIMES * 10]
    return {date[:10] for node in nodes if (date := to_iso_date(node.attributes.get("datetime")))}


def _dates(nodes: list[LexborNode]) -> list[str]:
    """Return the dates of elements that are not part of something else."""
    return [
        date
        for node in nodes
        if (date := to_iso_date(node.attributes.get("datetime") or node.attributes.get("content")))
        and not _is_of_others(node)
    ]


def _is_of_others(node: LexborNode) -> bool:
    """Return True inside navigation, comments, lists of other articles and links to them."""
    within: LexborNode | None = node
    articles = 0
    while within is not None and (tag := within.tag or "") not in ("body", "html"):
        if tag in ("a", "button") or is_hidden(within):
            return True
        if tag != "header" and is_navigation(within, tag):
            return True
        names = f"{within.attributes.get('class') or ''} {within.attributes.get('id') or ''}"
        if tag not in ("main", "body") and _OTHERS.search(names.lower()):
            return True
        articles += tag == "article"
        within = within.parent
    return articles > 1
