"""Score lists: a product of features, each of which a person can check on the page."""

from __future__ import annotations

import math

import msgspec

from smartspider.suggest.html.fields.candidate_field import CandidateField

_MOST_ITEMS = 200
_MOST_WORTH = 25.0
"""More fields than that are in the widest tables, and in groups of items."""
_INNER = 0.2
"""The weight of the first link or image of a list inside the item."""
_WEIGHTS = {"list": 0.3, "lines": 0.7, "text": 1.0, "own": 1.0, "owns": 0.9, "href": 0.8}


class ListFeatures(msgspec.Struct, frozen=True):
    """The features of a list; the score is their product."""

    fields: float
    """The distinct values of an item, weighted by coverage; those that few items have weigh less."""
    items: float
    """The logarithm of the number of items."""
    steady: float
    """The coverage of the usual fields."""
    place: float
    """1 in the main content, less in margins and navigation."""
    content: float
    """The share of the page's text in the items."""

    @property
    def score(self) -> float:
        """The product of the features."""
        return self.fields * self.items * self.steady * self.place * self.content


def list_features(
    candidates: list[CandidateField], count: int, place: float, content_share: float
) -> ListFeatures:
    """Return the features of a list with `count` items."""
    worth = math.fsum(field_weight(one) * min(1.0, 2 * one.coverage) for one in candidates)
    usual = [candidate.coverage for candidate in candidates if candidate.coverage > 0.5]
    steady = sum(usual) / max(1, len(usual))
    most = max(candidate.coverage for candidate in candidates)
    if len(candidates) <= 2 and not any(len(text) > 3 for text in _texts(candidates)):
        worth *= 0.3  # letters of an index, numbers of a pager
    return ListFeatures(
        fields=math.pow(min(worth, _MOST_WORTH), 0.9),
        items=math.log2(min(count, _MOST_ITEMS)),
        steady=steady**3 * most,
        place=place,
        content=content_weight(content_share),
    )


def content_weight(share: float) -> float:
    """Weigh the share of the page's text that a list has."""
    return math.sqrt(0.1 + min(1.0, share))


def _texts(candidates: list[CandidateField]) -> list[str]:
    return [text for candidate in candidates if candidate.is_text for text in candidate.found]


def field_weight(candidate: CandidateField) -> float:
    """Weigh a field by what it takes, its coverage and its distinct values."""
    found = candidate.found
    distinct = len(set(found)) / len(found)
    weight = _INNER if candidate.is_inner and not candidate.is_text else _WEIGHTS.get(candidate.take, 0.6)
    return weight * candidate.coverage * (0.3 + 0.7 * distinct)
