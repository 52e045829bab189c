"""Class names: their stability and the words in them."""

from __future__ import annotations

import re
from functools import lru_cache

_MADE = re.compile(
    r"(?:css|sc|jsx|jss|svelte|emotion|styled|makeStyles|r|e|_)[-_]?(?=[\w-]*\d)[A-Za-z0-9]{4,}(?:-\w+)*"
    r"|css-\w+|sc-[A-Za-z]{4,}|jsx-\d+|ng-tns-.*|data-v-\w+|_[A-Za-z0-9_-]{5,}",
)
_MODULE = re.compile(
    r"(?P<stem>[A-Za-z][\w-]*?__)(?=[A-Za-z0-9+/_-]{5,6}$)(?=[a-z]*[A-Z0-9+/])[A-Za-z0-9+/_-]+"
)
"""CSS modules: the words before the hash are stable."""
_STATE = re.compile(
    r"(?:is|has|no|not|js|lazy)-?\w+|active|selected|current|disabled|first|last|odd|even|hover|open|closed|"
    r"visible|hidden|show|hide|in|new|old|hot|sticky|featured|alt|clearfix|cf|cl|fl|fr|bg\d*|col\d*|row\d*|"
    r"lazyload(?:ed)?|nojs|ltr|rtl|responsive-\w+|\w*--\w+",
    re.IGNORECASE,
)
_UTILITY = re.compile(
    r"-?(?:m|p|mt|mb|ml|mr|mx|my|ms|me|pt|pb|pl|pr|px|py|ps|pe|w|h|min-w|max-w|min-h|max-h|gap|gap-x|gap-y|"
    r"space-x|space-y|inset|inset-x|inset-y|top|bottom|left|right|z|order|basis|opacity|leading|tracking|"
    r"duration|delay|scale|rotate|translate-x|translate-y|divide-x|divide-y|line-clamp|grid-cols|grid-rows|"
    r"col-span|row-span|columns|aspect|aspect-w|aspect-h|size|ring|stroke|indent|col|col-xs|col-sm|col-md|"
    r"col-lg|col-xl|offset|g|gx|gy|fs|fw|lh|rounded|border|shadow|flex|grow|shrink)-"
    r"(?:\d[\w./%-]*|px|auto|full|screen|none|xs|sm|md|lg|xl|\dxl|fit|min|max|tight|snug|normal|relaxed|loose|"
    r"wide|wider|widest|row|col|wrap|nowrap|fill|\[.*\])"
    r"|(?:text|bg|border|from|to|via|ring|fill|stroke|divide|placeholder|accent|decoration|outline|shadow)-"
    r"(?:\w+-\d{2,3}(?:/\d+)?|white|black|transparent|current|inherit|muted|primary|secondary|success|danger|"
    r"warning|info|light|dark|xs|sm|base|lg|xl|\dxl|left|center|right|justify|start|end|wrap|nowrap|ellipsis|"
    r"truncate|uppercase|lowercase|capitalize|[trblxy]|\d)"
    r"|(?:font|items|justify|content|self|align|place|object|overflow|overflow-x|overflow-y|whitespace|cursor|"
    r"select|pointer-events|transition|ease|animate|list|float|d|display|position|flex|flex-sm|flex-md|inline|"
    r"table|tabular|snap|touch|will-change|backdrop|rounded-[trbl]{1,2}|rounded)-[\w-]+"
    r"|flex|grid|block|inline|inline-block|inline-flex|table-cell|contents|relative|absolute|fixed|static|"
    r"container|container-fluid|row|col|cols?|wrap|wrapper|inner|outer|uppercase|lowercase|capitalize|italic|"
    r"underline|truncate|antialiased|rounded|border|shadow|shadow-\w+|transition|group|peer|sr-only|left|"
    r"right|center|pull-(?:left|right)|invisible|isolate|fw-\w+|small|large|bold|img-responsive|img-fluid|"
    r"lead|btn|btn-\w+|col-[\w-]+",
)
_RANDOM = re.compile(r"(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{5,}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_VOWELS = re.compile(r"[aeiouy]", re.IGNORECASE)


@lru_cache(maxsize=8192)
def is_stable(name: str) -> bool:
    """Return True if a class names the content, rather than a hash, a state or a style."""
    if len(name) < 2 or len(name) > 60 or ":" in name or "[" in name or "/" in name:
        return False
    if _MADE.fullmatch(name) or _MODULE.fullmatch(name) or _STATE.fullmatch(name):
        return False
    if _UTILITY.fullmatch(name) or not re.fullmatch(r"[^\W\d][\w-]*", name):
        return False
    return not any(_is_random(part) for part in re.split(r"[-_]+", name))


def _is_random(part: str) -> bool:
    digits = sum(character.isdigit() for character in part)
    if digits >= 3:
        return True
    if not _RANDOM.fullmatch(part):
        return False
    letters = re.sub(r"\d", "", part)
    return digits >= 2 or not part[-1].isdigit() or not _VOWELS.search(letters)


def is_state(name: str) -> bool:
    """Return True if a class describes a state or position: `active`, `odd`, `first`."""
    return _STATE.fullmatch(name) is not None


def is_utility(name: str) -> bool:
    """Return True if a class describes the appearance."""
    return ":" in name or _UTILITY.fullmatch(name) is not None


def module_stem(name: str) -> str | None:
    """Return `Card_title__` from `Card_title__x9YzA`: the hash changes with the next build."""
    found = _MODULE.fullmatch(name)
    return None if found is None else found["stem"]


def place_words(name: str) -> tuple[str, ...]:
    """Return the words of a class name that say where something is; those of widget libraries do not."""
    return () if name.startswith(("ui-", "elementor-", "wp-block-", "vc_", "et_pb_")) else split_words(name)


@lru_cache(maxsize=8192)
def split_words(name: str) -> tuple[str, ...]:
    """Split a name into words in lower case: `product-card__mainTitle` has four."""
    return tuple(word.lower() for word in _WORDS.findall(module_stem(name) or name) if not word.isdigit())
