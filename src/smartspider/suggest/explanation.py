"""Explain why a list is suggested before the others."""

from __future__ import annotations

from smartspider.suggest.suggestion import Suggestion

_MEANINGS = {
    "fields": ("more fields", "fewer fields"),
    "items": ("more items", "fewer items"),
    "steady": ("fields in more of its items", "fields in fewer of its items"),
    "place": ("in the main content", "in a margin, menu or footer"),
    "content": ("more of the page's text", "less of the page's text"),
    "among_others": ("items of its own", "a group or a part of other items"),
}
_CLEAR = 1.15
"""The ratio from which a feature counts as different."""


def explain(suggestions: list[Suggestion], choice: int = 1) -> list[str]:
    """Return lines that explain the features of each suggestion and why the chosen one is not another."""
    chosen = suggestions[choice - 1]
    lines = []
    for number, one in enumerate(suggestions, 1):
        lines.append(f"{number}. {_features_line(one)}")
        if one is not chosen:
            lines.append(f"   {_difference(chosen, one)}")
    return lines


def _features_line(one: Suggestion) -> str:
    kept = f"{one.completeness:.0%} of what its items show is in its fields"
    if not one.features:
        return f"{one.kind}: {'; '.join(one.reasons)}"
    product = " x ".join(f"{name} {value:.2f}" for name, value in one.features.items())
    return f"{one.kind}: {product} = {_rank(one):.1f}; {kept}"


def _rank(one: Suggestion) -> float:
    product = 1.0
    for value in one.features.values():
        product *= value
    return product


def _difference(chosen: Suggestion, other: Suggestion) -> str:
    """Return what a suggestion has more or less of than the chosen one, the largest difference first."""
    if not (chosen.features and other.features):
        return f"compared with the chosen one by its rank only: score {other.score:.2f}"
    ratios = {
        name: other.features[name] / value
        for name, value in chosen.features.items()
        if value and other.features.get(name)
    }
    less = sorted((ratio, name) for name, ratio in ratios.items() if ratio * _CLEAR <= 1)
    more = sorted(((ratio, name) for name, ratio in ratios.items() if ratio >= _CLEAR), reverse=True)
    parts = [_MEANINGS[name][1] for _, name in less]
    text = "compared with the chosen one: " + (", ".join(parts) if parts else "nothing less")
    return text + (f"; but {', '.join(_MEANINGS[name][0] for _, name in more)}" if more else "")
