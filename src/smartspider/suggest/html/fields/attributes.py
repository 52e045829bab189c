"""Values in attributes: links, images, dates, ratings and data attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smartspider.suggest.html.class_names import split_words
from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.html.tree import Element

IMAGE_ATTRS = (
    "data-src", "data-original", "data-lazy-src", "data-lazy-img", "data-lazy", "data-lazyload", "data-url",
    "data-image", "data-img", "data-img-src", "data-actualsrc", "data-hi-res-src", "data-defer-src",
    "data-echo", "data-original-src", "data-imgsrc", "src", "data-srcset", "data-lazy-srcset", "srcset",
)  # fmt: skip
LINK_ATTRS = ("href", "data-href", "data-link")
_IMAGE_FILE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif)(?:[?#&]|$)", re.IGNORECASE)
BACKGROUND = re.compile(r"background(?:-image)?:[^;]*url\(\s*['\"]?([^'\")\s]+)")
PLACEHOLDERS = ("data:", "about:")
_DATA_WORDS = (
    "id", "sku", "code", "price", "value", "rating", "score", "date", "time", "count", "name", "author",
    "title", "rank", "timestamp", "utime", "votes", "asin", "isbn", "stars", "rate",
)  # fmt: skip
_RATING_WORDS = frozenset("rating ratings rate rated star stars score grade level".split())
_GRADE = re.compile(r"(?:zero|one|two|three|four|five|half)|[a-z]*[-_]?\d{1,3}(?:[-_.]\d)?", re.IGNORECASE)
_WIDTH = re.compile(r"width:\s*[\d.]+\s*(?:%|px|em)")


def attribute_names(slot: Slot) -> Iterator[str]:
    """Yield the attributes of a slot whose values can be a field."""
    tag = slot.example.tag
    seen = {name for element in slot.elements.values() for name in element.attrs}
    telling = [name for name in LINK_ATTRS if name in seen]
    if tag == "a":
        telling = [name for name in telling if name == "href"] or telling
    elif tag in {"img", "amp-img"}:
        telling += [_image_attr(slot), "alt"]
    elif tag == "time":
        telling.append("datetime")
    elif tag in {"meta", "data", "meter"}:
        telling += ["content", "value"]
    elif tag in {"iframe", "video", "audio", "embed", "source"}:
        telling.append("src")
    telling += sorted(name for name in seen if name.startswith("data-") and _is_telling(name))
    telling += [name for name in ("title", "aria-label", "content") if name in seen]
    telling += [name for name in IMAGE_ATTRS if name in seen and _has_images(slot, name)]
    if is_rating(slot):
        telling.append("class")
    elif _has_telling_style(slot):
        telling.append("style")
    yield from dict.fromkeys(telling)


def _has_telling_style(slot: Slot) -> bool:
    """Return True if the style has the width of a row of stars, or an image in the background."""
    elements = list(slot.elements.values())
    if all(map(_has_background, elements)):
        return True
    return bool(_words(slot.example) & _RATING_WORDS) and all(map(_has_width, elements))


def attribute_value(slot: Slot, element: Element, name: str) -> str:
    """Return the value of an attribute; of `class`, only the names that tell items apart."""
    if name == "style":
        background = BACKGROUND.search(element.attrs.get(name, ""))
        return background[1] if background else element.attrs.get(name, "").strip()
    if name != "class":
        return element.attrs.get(name, "").strip()
    constant = constant_classes(slot)
    return " ".join(one for one in element.classes if one not in constant)


def constant_classes(slot: Slot) -> frozenset[str]:
    """Return the class names that all elements of a slot have."""
    elements = list(slot.elements.values())
    return frozenset(elements[0].classes).intersection(*(element.classes for element in elements[1:]))


def is_rating(slot: Slot) -> bool:
    """Return True if class names are the only place of a rating: `star-rating Three`, `stars-45`."""
    elements = list(slot.elements.values())
    if len(elements) < 2 or not all(element.classes for element in elements):
        return False
    names = {name for element in elements for name in element.classes}
    if not any(_RATING_WORDS.intersection(split_words(name)) for name in names):
        return False
    constant = constant_classes(slot)
    grades = [[name for name in element.classes if name not in constant] for element in elements]
    return len({tuple(some) for some in grades}) > 1 and all(
        (len(some) == 1 and _GRADE.fullmatch(some[0])) or (len(some) == 1 and re.search(r"\d", some[0]))
        for some in grades
    )


def is_image_attribute(slot: Slot, name: str) -> bool:
    """Return True if an attribute is the URL of an image."""
    if name == "style":
        return _has_background(slot.example)
    return name in IMAGE_ATTRS and (slot.example.tag in {"img", "amp-img"} or _has_images(slot, name))


def _has_images(slot: Slot, name: str) -> bool:
    """Return True if an attribute of elements that are no images has the files of images."""
    values = [element.attrs.get(name, "") for element in slot.elements.values()]
    is_image = slot.example.tag in {"img", "amp-img", "source"}
    return not is_image and all(_IMAGE_FILE.search(value) for value in values if value) and any(values)


def _has_background(element: Element) -> bool:
    return bool(BACKGROUND.search(element.attrs.get("style", "")))


def _has_width(element: Element) -> bool:
    return bool(_WIDTH.search(element.attrs.get("style", "")))


def _words(element: Element) -> frozenset[str]:
    above = () if element.parent is None else element.parent.classes
    return frozenset(word for name in (*element.classes, *above) for word in split_words(name))


def _image_attr(slot: Slot) -> str:
    """Return the attribute with the actual image, for pages that load it lazily."""
    for name in IMAGE_ATTRS:
        values = [element.attrs.get(name, "") for element in slot.elements.values()]
        real = [value for value in values if value and not value.startswith(PLACEHOLDERS)]
        if real and 2 * len(real) >= len(values) and (len(set(real)) > 1 or len(values) == 1):
            return name
    return "src"


def _is_telling(name: str) -> bool:
    return name.replace("_", "-").rsplit("-", 1)[-1] in _DATA_WORDS
