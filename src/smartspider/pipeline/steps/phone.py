"""`phone`: numbers become E.164."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.shapes import Converter, short_text

_REMEMBERED = 1024


class PhoneStep(Converter):
    """A valid telephone number as E.164, such as +4930901820. `region` is the country (ISO code) of numbers
    that name none; without it only numbers with a country code are understood.
    """

    kind = "text"

    def __init__(self, *, region: str | None = None) -> None:
        self._region = None if region is None else _known(region)
        self._parse = lru_cache(_REMEMBERED)(self._parsed)

    def treat(self, value: Any, _: Around) -> str:
        """The number."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15:
            value = str(value)
        found = self._parse(short_text(value, "a telephone number"))
        if found is None:
            raise StepFailed("is not a valid telephone number")
        return found

    def _parsed(self, text: str) -> str | None:
        import phonenumbers

        try:
            number = phonenumbers.parse(text.strip().removeprefix("tel:"), self._region)
        except phonenumbers.NumberParseException:
            return None
        if not phonenumbers.is_valid_number(number):
            return None
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def _known(region: str) -> str:
    import phonenumbers

    code = region.upper()
    if code not in phonenumbers.SUPPORTED_REGIONS:
        raise OptionWrong("region", f"{region!r} is not a region", "a country's ISO code, like 'DE' or 'CN'")
    return code
