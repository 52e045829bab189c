"""Name fields by the words of the page and the look of the values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smartspider.suggest.html.class_names import is_stable, is_utility, module_stem, split_words
from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.vocabulary import CHINESE_LABELS, GENERIC_WORDS, SYNONYMS

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TAGS = dict.fromkeys(_HEADINGS, "title") | {
    "time": "date",
    "address": "address",
    "cite": "source",
    "figcaption": "caption",
    "blockquote": "quote",
    "p": "description",
    "dt": "term",
    "dd": "definition",
}
_BY_KIND = {"price": "price", "date": "date", "rating": "rating", "email": "email", "phone": "phone"}
_KIND_WORDS = {
    "price": frozenset(
        "price cost amount salary fee rent deposit total shipping old sale special discount budget value "
        "wage tax tuition fare".split()
    ),
    "date": frozenset(
        "date dates time posted published updated created modified start end day when deadline expires "
        "release released year edit lastpost due".split()
    ),
}
"""Words that name a price or a date well enough."""
_FILLER = re.compile(r"[^\w]+")


def name_fields(fields: list[CandidateField], headers: dict[str, str] | None = None) -> list[str]:
    """Return a unique name for each field; `headers` are those of a table by cell number."""
    title = _title_of(fields)
    names = [_choose_name(field, title, headers or {}) for field in fields]
    links = [number for number, field in enumerate(fields) if field.is_link]
    main = title.slot if title is not None else None
    chosen = next((number for number in links if _shares_link(fields[number].slot, main)), None)
    if chosen is None and links:
        chosen = links[0]
    texts = {id(field.slot): name for field, name in zip(fields, names, strict=True) if not field.is_link}
    for number in links:
        text = texts.get(id(fields[number].slot), "")
        names[number] = (
            "url" if number == chosen else f"{text}_url" if text not in {"", "text"} else names[number]
        )
    return _unique(names)


def to_field_name(label: str) -> str:
    """Convert a label to a field name; known Chinese words are translated."""
    text = label.strip(" :\uff1a*()\uff08\uff09").strip()
    if text in CHINESE_LABELS:
        return CHINESE_LABELS[text]
    return _FILLER.sub("_", text.lower()).strip("_")[:40]


def _title_of(fields: list[CandidateField]) -> CandidateField | None:
    """Return the title of the items: a heading, or the longest linked text."""
    texts = [field for field in fields if field.take in {"text", "own", "owns"} and field.kind == "text"]
    headings = [field for field in texts if re.search(r"(^|,)h[1-6](,|$)", ",".join(field.slot.key))]
    named = [field for field in texts if {"title", "name", "headline"} & set(_own_words(field.slot))]
    linked = [field for field in texts if "a" in field.slot.key or field.slot.example.tag == "a"]
    for choice in (named if len(named) == 1 else [], headings, named, linked):
        full = [
            field for field in choice if field.coverage > 0.7 and len(set(field.found)) > len(field.found) / 3
        ]
        if full:
            return max(full, key=lambda field: sum(map(len, field.found)) / len(field.found))
    return None


def _choose_name(field: CandidateField, title: CandidateField | None, headers: dict[str, str]) -> str:
    header = _header(field, headers)
    is_cell = bool(headers) and field.slot.key[-4:-2] == ("cell", "nth")
    page_name = header if is_cell else _name_in_page(field) or header
    header = header if is_cell or page_name == header else ""
    if not field.is_text and field.take != "datetime":
        name = _attribute_name(field, page_name)
    elif header:
        name = header
    elif field is title:
        name = page_name if page_name in {"name", "headline"} else "title"
    elif field.take == "datetime":
        name = page_name if page_name not in {"", "posted", "time"} else "date"
    elif _is_named_by_kind(field, page_name) or (
        field.kind in _BY_KIND and page_name in {"", "description", "number", "title", "time"}
    ):
        name = _BY_KIND[field.kind]
    elif field.take == "list":
        name = page_name or "tags"
    else:
        name = page_name or _by_tag(field) or _last_word(field.slot) or _name_by_values(field)
    return name


def _is_named_by_kind(field: CandidateField, page_name: str) -> bool:
    """Return True for prices and dates whose class names say nothing of the kind."""
    words = _KIND_WORDS.get(field.kind)
    if words is None or field.slot.label or field.label or "itemprop" in field.slot.example.attrs:
        return False
    return page_name.startswith("price_") or not words.intersection(page_name.split("_"))


def _attribute_name(field: CandidateField, page_name: str) -> str:
    if field.is_link:
        return f"{page_name.removesuffix('_url')}_url" if page_name not in {"", "url"} else "link"
    if field.is_image:
        return page_name if "image" in page_name else "image"
    if field.take.startswith("data-"):
        word = to_field_name(field.take.removeprefix("data-"))
        return page_name if page_name and word in {"value", "count", "name", "score"} else word
    return page_name or _by_tag(field) or _last_word(field.slot) or _name_by_values(field)


def _by_tag(field: CandidateField) -> str:
    name = _TAGS.get(field.slot.example.tag, "")
    is_long = sum(map(len, field.found)) > 30 * len(field.found)
    return name if name != "description" or is_long else ""


def _last_word(slot: Slot) -> str:
    """Return a generic word of the class names, as a last resort."""
    for name in slot.example.classes:
        if is_stable(name):
            words = [word for word in split_words(name.split("__")[-1].split("--")[0]) if len(word) > 1]
            if words:
                return words[-1]
    return ""


def _name_by_values(field: CandidateField) -> str:
    units = {
        found[1].lower()
        for value in field.found
        if (found := re.fullmatch(r"[\d.,]+\s*([^\W\d]{3,})", value))
    }
    if len(units) == 1 or (len(units) == 2 and len({unit.rstrip("s") for unit in units}) == 1):
        return max(units)
    if field.kind == "number":
        numbers = [value for value in field.found if re.fullmatch(r"[0-5](?:[.,]\d)?", value)]
        is_rating = len(numbers) == len(field.found) and any(len(value) > 1 for value in numbers)
        return "rating" if is_rating else "number"
    return "text"


def _header(field: CandidateField, headers: dict[str, str]) -> str:
    key = field.slot.key
    for place in range(len(key) - 2):
        if key[place] == "cell" and key[place + 1] == "nth":
            return to_field_name(headers.get(key[place + 2], ""))
    return ""


def _name_in_page(field: CandidateField) -> str:
    """Return the page's name for the value: label, itemprop, or classes of the element and its ancestors."""
    slot: Slot | None = field.slot
    while slot is not None and slot.parent is not None:
        if slot.label:
            return to_field_name(slot.label)
        slot = slot.parent
    if field.label and len(field.label) < 30:
        return to_field_name(field.label)
    for page_name in _levels(field.slot):
        if page_name:
            return page_name
    return to_field_name(field.prefix) if field.prefix else ""


def _levels(slot: Slot) -> Iterator[str]:
    at: Slot | None = slot
    while at is not None and at.parent is not None:
        itemprop = at.example.attrs.get("itemprop")
        if itemprop:
            yield _joined(split_words(_scope_name(at) if itemprop in {"name", "url", "value"} else itemprop))
        yield _joined(_own_words(at))
        if at.example.tag in {*_HEADINGS, "time", "address", "dt"}:
            yield _TAGS[at.example.tag]
        at = at.parent


def _scope_name(slot: Slot) -> str:
    """Return the role of a named object in the item, such as location or brand; or its own name."""
    above = slot.parent
    while above is not None and above.parent is not None:
        if above.example.attrs.get("itemprop"):
            return above.example.attrs["itemprop"]
        above = above.parent
    return slot.example.attrs["itemprop"]


def _own_words(slot: Slot) -> tuple[str, ...]:
    """Return the distinctive words of the element's class."""
    item = slot
    while item.parent is not None:
        item = item.parent
    of_item = {word for name in item.example.classes for word in split_words(name)}
    for name in slot.example.classes:
        if is_utility(name) or not (is_stable(name) or module_stem(name)):
            continue
        part = name.split("__")[-1].split("--")[0] if module_stem(name) is None else name
        words = tuple(
            word
            for word in split_words(part)
            if word not in GENERIC_WORDS and word not in of_item and len(word) > 1
        )
        if words:
            return words
    return ()


def _joined(words: tuple[str, ...]) -> str:
    kept = [word for word in words if word not in GENERIC_WORDS and len(word) > 1][-2:]
    if not kept:
        return ""
    last = kept[-1]
    for ending in ("title", "author", "price", "image"):
        if last.endswith(ending) and last != ending:
            return ending
    whole = "_".join(kept)
    if last in SYNONYMS:
        return SYNONYMS[last]
    return SYNONYMS.get("".join(kept), whole)


def _shares_link(slot: Slot, title: Slot | None) -> bool:
    """Return True if a link surrounds, or is inside, the title."""
    if title is None:
        return False
    short, long = sorted((slot.key, title.key), key=len)
    return long[: len(short)] == short


def _unique(names: list[str]) -> list[str]:
    taken: dict[str, int] = {}
    result = []
    for wanted in names:
        name = wanted or "text"
        taken[name] = taken.get(name, 0) + 1
        final = name if taken[name] == 1 else f"{name}_{taken[name]}"
        while final in result:
            taken[name] += 1
            final = f"{name}_{taken[name]}"
        result.append(final)
    return result
