"""The kinds of plug-ins, and everything that is built in, by name.

A built-in is a line here and a module; nothing else lists it. Installed packages add names to a kind by entry
points in its group. CONTRIBUTING.md describes how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from smartspider.interfaces.fetcher import TransportFactory
from smartspider.interfaces.layer import RequestLayer, ResponseLayer, TokenLayer
from smartspider.interfaces.output import OutputFactory
from smartspider.interfaces.step import ItemStep, ValueStep

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginKind(Generic[T]):
    """A kind of plug-in; `T` is what a name resolves to."""

    name: str
    """The noun in messages."""
    group: str | None
    """The group of entry points; None if packages cannot add to the kind."""
    parameters: tuple[str, ...] | None
    """The positional arguments a plug-in is called with; None if it is called with the options of a task."""
    built_in: Mapping[str, str]
    """Name to `module:attribute`, imported when it is first used."""
    needs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Built-ins that import an optional package: name to the package and the extra that installs it."""


OUTPUT: PluginKind[OutputFactory] = PluginKind(
    "output",
    "smartspider.outputs",
    ("path", "columns", "options"),
    {
        "csv": "smartspider.outputs.csv:CsvOutput",
        "db": "smartspider.outputs.sqlite:SqliteOutput",
        "json": "smartspider.outputs.json:JsonOutput",
        "jsonl": "smartspider.outputs.json:JsonlOutput",
        "md": "smartspider.outputs.markdown:MarkdownOutput",
        "parquet": "smartspider.outputs.parquet:ParquetOutput",
        "sqlite": "smartspider.outputs.sqlite:SqliteOutput",
        "xlsx": "smartspider.outputs.xlsx:XlsxOutput",
        "xml": "smartspider.outputs.xml:XmlOutput",
    },
    {
        "parquet": ("pyarrow", "parquet"),
        "xlsx": ("xlsxwriter", "excel"),
    },
)
"""A file format, named by its suffix; see `interfaces/output.py`."""

STEP: PluginKind[Callable[..., ValueStep | ItemStep]] = PluginKind(
    "step",
    "smartspider.steps",
    None,
    {
        "boolean": "smartspider.pipeline.steps.numbers:BooleanStep",
        "date": "smartspider.pipeline.steps.dates:DateStep",
        "default": "smartspider.pipeline.steps.missing:DefaultStep",
        "download": "smartspider.pipeline.steps.download:DownloadStep",
        "drop": "smartspider.pipeline.steps.fields:DropStep",
        "email": "smartspider.pipeline.steps.addresses:EmailStep",
        "enum": "smartspider.pipeline.steps.checks:EnumStep",
        "extract": "smartspider.pipeline.steps.replace:ExtractStep",
        "html_text": "smartspider.pipeline.steps.html:HtmlTextStep",
        "integer": "smartspider.pipeline.steps.numbers:IntegerStep",
        "join": "smartspider.pipeline.steps.lists:JoinStep",
        "language": "smartspider.pipeline.steps.text:LanguageStep",
        "length": "smartspider.pipeline.steps.checks:LengthStep",
        "lower": "smartspider.pipeline.steps.text:LowerStep",
        "map": "smartspider.pipeline.steps.replace:MapStep",
        "markdown": "smartspider.pipeline.steps.html:MarkdownStep",
        "matches": "smartspider.pipeline.steps.checks:MatchesStep",
        "number": "smartspider.pipeline.steps.numbers:NumberStep",
        "phone": "smartspider.pipeline.steps.addresses:PhoneStep",
        "range": "smartspider.pipeline.steps.checks:RangeStep",
        "rename": "smartspider.pipeline.steps.fields:RenameStep",
        "replace": "smartspider.pipeline.steps.replace:ReplaceStep",
        "required": "smartspider.pipeline.steps.missing:RequiredStep",
        "schema": "smartspider.pipeline.steps.schema:SchemaStep",
        "split": "smartspider.pipeline.steps.lists:SplitStep",
        "template": "smartspider.pipeline.steps.fields:TemplateStep",
        "trim": "smartspider.pipeline.steps.text:TrimStep",
        "type": "smartspider.pipeline.steps.checks:TypeStep",
        "unicode": "smartspider.pipeline.steps.text:UnicodeStep",
        "unique": "smartspider.pipeline.steps.fields:UniqueStep",
        "upper": "smartspider.pipeline.steps.text:UpperStep",
        "url": "smartspider.pipeline.steps.addresses:UrlStep",
        "whitespace": "smartspider.pipeline.steps.text:WhitespaceStep",
    },
    {
        "language": ("py3langid", "text"),
        "markdown": ("markdownify", "text"),
        "schema": ("jsonschema", "text"),
    },
)
"""A step of a rule or of the pipeline, named by `use`; see `interfaces/step.py`."""

SOURCE: PluginKind[Callable[[Any], Any]] = PluginKind(
    "source",
    None,  # the task schema names the sources
    ("document",),
    {
        "article": "smartspider.extract.sources.content.article:read_article",
        "feed": "smartspider.extract.sources.feed:read_feed",
        "json_ld": "smartspider.extract.sources.json_scripts:read_json_ld",
        "links": "smartspider.extract.sources.links:read_links",
        "list": "smartspider.extract.sources.schema_org.listing:read_list",
        "markdown": "smartspider.extract.sources.content.markdown:read_markdown",
        "microdata": "smartspider.extract.sources.microdata:read_microdata",
        "opengraph": "smartspider.extract.sources.opengraph:read_opengraph",
        "product": "smartspider.extract.sources.schema_org.product:read_product",
        "state": "smartspider.extract.sources.json_scripts:read_state",
        "tables": "smartspider.extract.sources.tables:read_tables",
    },
    {
        "article": ("trafilatura", "text"),
    },
)
"""A rule type that needs no selector: reads data that a page carries, as JSON values."""

LAYER: PluginKind[Callable[..., RequestLayer | ResponseLayer | TokenLayer]] = PluginKind(
    "layer",
    "smartspider.layers",
    None,
    {
        "decrypt": "smartspider.layers.decrypt:DecryptLayer",
        "encrypt": "smartspider.layers.encrypt:EncryptLayer",
        "json": "smartspider.layers.json:JsonLayer",
        "sign": "smartspider.layers.sign:SignLayer",
        "token": "smartspider.layers.token:BearerTokenLayer",
    },
)
"""Changes requests and answers of a task, named by `use` in `layers`; see `interfaces/layer.py`."""

TRANSPORT: PluginKind[TransportFactory] = PluginKind(
    "transport",
    "smartspider.transports",
    ("plan", "context"),
    {
        "http": "smartspider.fetch.transport:AiohttpTransport",
    },
)
"""Sends one HTTP exchange, named by `fetch.mode`; see `interfaces/fetcher.py`."""

CHANNEL: PluginKind[Callable[..., Any]] = PluginKind(
    "channel",
    "smartspider.channels",
    ("installation",),
    {
        "email": "smartspider.services.notifications.email:EmailChannel",
        "slack": "smartspider.services.notifications.slack:SlackChannel",
        "webhook": "smartspider.services.notifications.webhook:WebhookChannel",
    },
)
"""Delivers notifications to one kind of target."""

KINDS: tuple[PluginKind[Any], ...] = (OUTPUT, STEP, SOURCE, LAYER, TRANSPORT, CHANNEL)
