"""XML: `<items><item><field>…`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from smartspider.outputs.cells import decode_row, make_distinct, strip_illegal, to_json
from smartspider.outputs.file_output import FileOutput

NAME_LETTERS = "A-Za-z_À-ÖØ-öø-ÿΎ-ΡΣ-ώЁ-ЌЎ-яё-ќў-ҁぁ-ゔァ-ヺ一-龥가-힣"
"""Letters that every XML parser accepts in a name, including parsers of older editions."""
_NOT_IN_NAMES = re.compile(f"[^{NAME_LETTERS}0-9.-]")
_FIRST = re.compile(f"(?!xml)[{NAME_LETTERS}]", re.IGNORECASE)
_NAME_CHARS = 200
_DEEPEST = 50


class XmlOutput(FileOutput):
    """Writes one UTF-8 file. Object keys are elements, list values are repeated `<value>` elements, null is
    an empty element with `null="true"`.

    A key that is not an XML name is changed into one, with the original in the attribute `name`;
    characters that XML forbids are removed; values nested deeper than 50 levels are JSON text.
    """

    media_type: ClassVar[str] = "application/xml"
    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        item = decode_row(data)
        parts = ["<item>"]
        for name, tags in zip(self.names, self._tags, strict=True):
            parts += _element(tags, item.get(name), _DEEPEST)
        parts.append("</item>\n")
        self.file.write("".join(parts).encode())

    def begin(self) -> None:
        """Write the declaration and the root element."""
        made = make_distinct(map(_xml_name, self.names))
        self._tags = [_tags(tag, label) for tag, label in zip(made, self.names, strict=True)]
        self.file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<items>\n')

    def end(self) -> None:
        """Close the root element."""
        self.file.write(b"</items>\n")


Tags = tuple[str, str]
"""The start tag without its `>`, and the name."""
_VALUE: Tags = ("<value", "value")


def _element(tags: Tags, value: Any, levels: int) -> Iterator[str]:
    begin, name = tags
    if value is None:
        yield f'{begin} null="true"/>'
        return
    yield f"{begin}>"
    match value:
        case dict() if levels:
            for key, inner in value.items():
                yield from _element(_tags(_xml_name(key), key), inner, levels - 1)
        case list() if levels:
            for inner in value:
                yield from _element(_VALUE, inner, levels - 1)
        case str():
            yield _escaped(value)
        case _:
            yield _escaped(to_json(value))
    yield f"</{name}>"


def _tags(name: str, key: str) -> Tags:
    if name == key:
        return f"<{name}", name
    quoted = _escaped(key).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
    return f'<{name} name="{quoted}"', name


def _xml_name(key: str) -> str:
    name = _NOT_IN_NAMES.sub("_", key[:_NAME_CHARS]) or "_"
    return name if _FIRST.match(name) else f"_{name}"


def _escaped(text: str) -> str:
    text = strip_illegal(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
