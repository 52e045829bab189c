"""Plug-ins by kind and name.

Built-ins stand in a table and are imported when first asked for. Installed packages add to it by entry points
in the group `smartspider.<kind>s`; these are scanned only for names the table does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from smartspider.core.errors import NotBuilt, NotFound

BUILT_IN: dict[str, dict[str, str]] = {
    "output": {
        "csv": "smartspider.sinks.csv:CsvSink",
        "db": "smartspider.sinks.sqlite:SqliteSink",
        "json": "smartspider.sinks.json:JsonSink",
        "jsonl": "smartspider.sinks.jsonl:JsonlSink",
        "md": "smartspider.sinks.markdown:MarkdownSink",
        "parquet": "smartspider.sinks.parquet:ParquetSink",
        "sqlite": "smartspider.sinks.sqlite:SqliteSink",
        "xlsx": "smartspider.sinks.xlsx:XlsxSink",
        "xml": "smartspider.sinks.xml:XmlSink",
    },
    "step": {
        "boolean": "smartspider.pipeline.steps.boolean:BooleanStep",
        "date": "smartspider.pipeline.steps.date:DateStep",
        "default": "smartspider.pipeline.steps.missing:DefaultStep",
        "drop": "smartspider.pipeline.steps.drop:DropStep",
        "email": "smartspider.pipeline.steps.email:EmailStep",
        "enum": "smartspider.pipeline.steps.checks:EnumStep",
        "extract": "smartspider.pipeline.steps.regex:ExtractStep",
        "html_text": "smartspider.pipeline.steps.html_text:HtmlTextStep",
        "integer": "smartspider.pipeline.steps.integer:IntegerStep",
        "join": "smartspider.pipeline.steps.lists:JoinStep",
        "language": "smartspider.pipeline.steps.language:LanguageStep",
        "length": "smartspider.pipeline.steps.checks:LengthStep",
        "lower": "smartspider.pipeline.steps.text:LowerStep",
        "map": "smartspider.pipeline.steps.mapping:MapStep",
        "markdown": "smartspider.pipeline.steps.markdown:MarkdownStep",
        "matches": "smartspider.pipeline.steps.checks:MatchesStep",
        "number": "smartspider.pipeline.steps.number:NumberStep",
        "phone": "smartspider.pipeline.steps.phone:PhoneStep",
        "range": "smartspider.pipeline.steps.checks:RangeStep",
        "rename": "smartspider.pipeline.steps.rename:RenameStep",
        "replace": "smartspider.pipeline.steps.regex:ReplaceStep",
        "required": "smartspider.pipeline.steps.missing:RequiredStep",
        "schema": "smartspider.pipeline.steps.schema:SchemaStep",
        "split": "smartspider.pipeline.steps.lists:SplitStep",
        "template": "smartspider.pipeline.steps.template:TemplateStep",
        "trim": "smartspider.pipeline.steps.text:TrimStep",
        "type": "smartspider.pipeline.steps.checks:TypeStep",
        "unicode": "smartspider.pipeline.steps.text:UnicodeStep",
        "unique": "smartspider.pipeline.steps.unique:UniqueStep",
        "upper": "smartspider.pipeline.steps.text:UpperStep",
        "url": "smartspider.pipeline.steps.url:UrlStep",
        "whitespace": "smartspider.pipeline.steps.text:WhitespaceStep",
    },
}
"""Kind, name, and where it is: `module:attribute`. A kind exists when it has a line here."""

EXTRAS: dict[str, tuple[str, str]] = {
    "smartspider.sinks.parquet:ParquetSink": ("pyarrow", "parquet"),
    "smartspider.pipeline.steps.language:LanguageStep": ("py3langid", "text"),
    "smartspider.pipeline.steps.markdown:MarkdownStep": ("markdownify", "text"),
    "smartspider.pipeline.steps.schema:SchemaStep": ("jsonschema", "text"),
}
"""Built-ins that import a package only when they work: that package, and the extra that installs it."""


def resolve(kind: str, name: str) -> Any:
    """The object a name stands for; `NotFound` when nobody has it, `NotBuilt` when it cannot be loaded."""
    place = BUILT_IN[kind].get(name)
    if place is not None:
        _require_extra(f"the {kind} {name!r}", place)
        return _loaded(f"the {kind} {name!r}", lambda: _imported(place))
    found = sorted(_offered(kind, name), key=lambda point: point.value)
    if not found:
        raise NotFound(f"there is no {kind} called {name!r}", hint=_hint(kind, name))
    if len(found) > 1:
        raise NotBuilt(
            f"the {kind} {name!r} is offered by more than one package: {', '.join(map(_origin, found))}",
            hint="remove all but one of them",
        )
    return _loaded(f"the {kind} plug-in {name!r} of {_origin(found[0])}", found[0].load)


def known(kind: str) -> list[str]:
    """All names of a kind, built in or installed, sorted."""
    return sorted({*BUILT_IN[kind], *(point.name for point in entry_points(group=_group(kind)))})


def _group(kind: str) -> str:
    return f"smartspider.{kind}s"


def _offered(kind: str, name: str) -> list[EntryPoint]:
    # The same package can be seen twice, from two places of the path; that is still one offer.
    points = entry_points(group=_group(kind), name=name)
    return list({(point.value, _origin(point)): point for point in points}.values())


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _require_extra(what: str, place: str) -> None:
    package, extra = EXTRAS.get(place, ("", ""))
    if package and find_spec(package) is None:
        raise NotBuilt(
            f"{what} needs the package {package}, which is not installed",
            hint=f"pip install 'smartspider[{extra}]'",
        )


def _loaded(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # a plug-in's module may raise anything while it is imported
        raise NotBuilt(
            f"{what} cannot be loaded: {type(error).__name__}: {error}",
            hint="install what it needs, or update or remove the package",
        ) from error


def _hint(kind: str, name: str) -> str:
    names = known(kind)
    nearest = get_close_matches(name, names, n=2)
    meant = f"{' or '.join(map(repr, nearest))}; " if nearest else ""
    return f"{meant}known are {', '.join(names)}"
