"""Names for columns, from what the page itself calls them and from what the values look like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smartspider.suggest.classes import is_stable, is_utility, module_stem, words_of
from smartspider.suggest.columns import Column
from smartspider.suggest.slots import Slot
from smartspider.suggest.words import EMPTY, LABELS, SAME

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TAGS = dict.fromkeys(_HEADINGS, "title") | {
    "time": "date",
    "address": "address",
    "cite": "source",
    "figcaption": "caption",
    "blockquote": "quote",
    "p": "description",
}
_BY_KIND = {"price": "price", "date": "date", "rating": "rating", "email": "email", "phone": "phone"}
_FILLER = re.compile(r"[^\w]+")


def name_fields(columns: list[Column], headers: dict[str, str] | None = None) -> list[str]:
    """A name for each column, no two the same; `headers` are those of a table by the number of the cell."""
    title = _title_of(columns)
    names = [_wish(column, title, headers or {}) for column in columns]
    links = [number for number, column in enumerate(columns) if column.is_link]
    main = title.slot if title is not None else None
    chosen = next((number for number in links if _shares_link(columns[number].slot, main)), None)
    if chosen is None and links:
        chosen = links[0]
    texts = {id(column.slot): name for column, name in zip(columns, names, strict=True) if not column.is_link}
    for number in links:
        text = texts.get(id(columns[number].slot), "")
        names[number] = (
            "url" if number == chosen else f"{text}_url" if text not in {"", "text"} else names[number]
        )
    return _unique(names)


def label_name(label: str) -> str:
    """A label of the page as a field name: known Chinese words in English, others as they are."""
    text = label.strip(" :\uff1a*()\uff08\uff09").strip()
    if text in LABELS:
        return LABELS[text]
    return _FILLER.sub("_", text.lower()).strip("_")[:40]


def _title_of(columns: list[Column]) -> Column | None:
    """The text that an item is called by: a heading, or the longest text that is a link."""
    texts = [column for column in columns if column.take in {"text", "own"} and column.kind == "text"]
    headings = [column for column in texts if re.search(r"(^|,)h[1-6](,|$)", ",".join(column.slot.key))]
    named = [column for column in texts if {"title", "name", "headline"} & set(_own_words(column.slot))]
    linked = [column for column in texts if "a" in column.slot.key or column.slot.example.tag == "a"]
    for choice in (named if len(named) == 1 else [], headings, named, linked):
        full = [
            column
            for column in choice
            if column.coverage > 0.7 and len(set(column.found)) > len(column.found) / 3
        ]
        if full:
            return max(full, key=lambda column: sum(map(len, column.found)) / len(column.found))
    return None


def _wish(column: Column, title: Column | None, headers: dict[str, str]) -> str:
    header = _header(column, headers)
    said = header or _said(column)
    if column.take not in {"text", "own", "list", "datetime"}:
        name = _attribute_name(column, said)
    elif header:
        name = header
    elif column is title:
        name = said if said in {"name", "headline"} else "title"
    elif column.take == "datetime":
        name = said if said not in {"", "posted", "time"} else "date"
    elif column.kind == "price" and said.startswith("price_"):
        name = "price"
    elif column.kind in _BY_KIND and said in {"", "description", "number", "title", "time"}:
        name = _BY_KIND[column.kind]
    elif column.take == "list":
        name = said or "tags"
    else:
        name = said or _by_tag(column) or _last_word(column.slot) or _by_looks(column)
    return name


def _attribute_name(column: Column, said: str) -> str:
    if column.is_link:
        return f"{said.removesuffix('_url')}_url" if said not in {"", "url"} else "link"
    if column.is_image:
        return said if "image" in said else "image"
    if column.take.startswith("data-"):
        word = label_name(column.take.removeprefix("data-"))
        return said if said and word in {"value", "count", "name", "score"} else word
    return said or _by_tag(column) or _last_word(column.slot) or _by_looks(column)


def _by_tag(column: Column) -> str:
    name = _TAGS.get(column.slot.example.tag, "")
    is_long = sum(map(len, column.found)) > 30 * len(column.found)
    return name if name != "description" or is_long else ""


def _last_word(slot: Slot) -> str:
    """A word too common to be told apart by, when there is nothing better."""
    for name in slot.example.classes:
        if is_stable(name):
            words = [word for word in words_of(name.split("__")[-1].split("--")[0]) if len(word) > 1]
            if words:
                return words[-1]
    return ""


def _by_looks(column: Column) -> str:
    units = {
        found[1].lower()
        for value in column.found
        if (found := re.fullmatch(r"[\d.,]+\s*([^\W\d]{3,})", value))
    }
    if len(units) == 1 or (len(units) == 2 and len({unit.rstrip("s") for unit in units}) == 1):
        return max(units)
    if column.kind == "number":
        numbers = [value for value in column.found if re.fullmatch(r"[0-5](?:[.,]\d)?", value)]
        is_rating = len(numbers) == len(column.found) and any(len(value) > 1 for value in numbers)
        return "rating" if is_rating else "number"
    return "text"


def _header(column: Column, headers: dict[str, str]) -> str:
    key = column.slot.key
    for place in range(len(key) - 2):
        if key[place] == "cell" and key[place + 1] == "nth":
            return label_name(headers.get(key[place + 2], ""))
    return ""


def _said(column: Column) -> str:
    """What the page calls the value: label, itemprop, classes of the element and of what it stands in."""
    slot: Slot | None = column.slot
    while slot is not None and slot.parent is not None:
        if slot.label:
            return label_name(slot.label)
        slot = slot.parent
    if column.label and len(column.label) < 30:
        return label_name(column.label)
    for said in _levels(column.slot):
        if said:
            return said
    return label_name(column.prefix) if column.prefix else ""


def _levels(slot: Slot) -> Iterator[str]:
    at: Slot | None = slot
    while at is not None and at.parent is not None:
        itemprop = at.example.attrs.get("itemprop")
        if itemprop:
            yield _joined(words_of(_scope_name(at) if itemprop in {"name", "url", "value"} else itemprop))
        yield _joined(_own_words(at))
        if at.example.tag in {*_HEADINGS, "time", "address"}:
            yield _TAGS[at.example.tag]
        at = at.parent


def _scope_name(slot: Slot) -> str:
    """What a thing with a name is to the item: the location, its brand; or just its name."""
    above = slot.parent
    while above is not None and above.parent is not None:
        if above.example.attrs.get("itemprop"):
            return above.example.attrs["itemprop"]
        above = above.parent
    return slot.example.attrs["itemprop"]


def _own_words(slot: Slot) -> tuple[str, ...]:
    """The telling words of the class that an element is known by."""
    item = slot
    while item.parent is not None:
        item = item.parent
    of_item = {word for name in item.example.classes for word in words_of(name)}
    for name in slot.example.classes:
        if is_utility(name) or not (is_stable(name) or module_stem(name)):
            continue
        part = name.split("__")[-1].split("--")[0] if module_stem(name) is None else name
        words = tuple(
            word for word in words_of(part) if word not in EMPTY and word not in of_item and len(word) > 1
        )
        if words:
            return words
    return ()


def _joined(words: tuple[str, ...]) -> str:
    kept = [word for word in words if word not in EMPTY and len(word) > 1][-2:]
    if not kept:
        return ""
    last = kept[-1]
    for ending in ("title", "author", "price", "image"):
        if last.endswith(ending) and last != ending:
            return ending
    whole = "_".join(kept)
    if last in SAME:
        return SAME[last]
    return SAME.get("".join(kept), whole)


def _shares_link(slot: Slot, title: Slot | None) -> bool:
    """Whether a link is the one around, or inside, the title."""
    if title is None:
        return False
    short, long = sorted((slot.key, title.key), key=len)
    return long[: len(short)] == short


def _unique(names: list[str]) -> list[str]:
    taken: dict[str, int] = {}
    result = []
    for wish in names:
        name = wish or "text"
        taken[name] = taken.get(name, 0) + 1
        final = name if taken[name] == 1 else f"{name}_{taken[name]}"
        while final in result:
            taken[name] += 1
            final = f"{name}_{taken[name]}"
        result.append(final)
    return result
