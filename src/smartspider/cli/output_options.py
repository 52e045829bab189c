"""The options of commands that write files of rows: one list for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from smartspider.interfaces.output import OutputOptions

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ".jsonl .json .csv .xlsx .parquet .xml .sqlite .md, text also with .gz .zst .bz2 .xz"
_DELIMITERS = ",;|:^~#"


def _delimiter(_context: click.Context, _option: click.Parameter, value: str) -> str:
    delimiter = "\t" if value.lower() in {"tab", "\\t"} else value
    if delimiter != "\t" and (len(delimiter) != 1 or delimiter not in _DELIMITERS):
        raise click.BadParameter(f"one of {' '.join(_DELIMITERS)} or the word tab")
    return delimiter


_OPTIONS = (
    click.option("--envelope", is_flag=True, help="Write url, run, fingerprint and time with every row."),
    click.option(
        "--excel", is_flag=True, help="CSV that spreadsheets open well: marked as UTF-8, no formulas."
    ),
    click.option(
        "--delimiter", default=",", callback=_delimiter, metavar="CHAR", help="What separates CSV cells."
    ),
    click.option("--split-rows", type=click.IntRange(1), metavar="N", help="Begin a new file after N rows."),
    click.option(
        "--split-mb",
        type=click.FloatRange(0, 1_000_000, min_open=True),
        metavar="N",
        help="Begin a new file when one has reached N megabytes, before compression.",
    ),
)


def output_file_option(help: str, *, required: bool = False) -> Callable[[F], F]:  # noqa: A002 - click's word
    """`-o FILE`, as often as wanted."""
    return click.option(
        *("-o", "--output", "outputs"),
        multiple=True,
        required=required,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"{help} ({FORMATS}); may be given more than once.",
    )


only_changes_option = click.option(
    "--only-changes",
    is_flag=True,
    help="Only rows that are new or changed since the last completed run of the task.",
)


def output_options(command: F) -> F:
    """How the files are written: give what the command gets as keyword arguments to `options_from`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_from(chosen: dict[str, Any]) -> OutputOptions:
    """What the options of `output_options` say."""
    from smartspider.interfaces.output import OutputOptions

    return OutputOptions(
        has_envelope=chosen["envelope"],
        is_for_excel=chosen["excel"],
        delimiter=chosen["delimiter"],
        split_rows=chosen["split_rows"],
        split_mb=chosen["split_mb"],
    )
