"""Options of commands that read rows or write them to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smartspider.cli.target import limit_option

if TYPE_CHECKING:
    from smartspider.interfaces.output import OutputOptions

F = TypeVar("F", bound=Callable[..., Any])

RUN = click.option(
    "--run", "run_id", default=None, metavar="RUN", help="Id of the run.  [default: the newest run]"
)
TASK = click.option("--task", default=None, metavar="NAME", help="Use the newest run of this task.")
WHERE = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that match: FIELD=VALUE, !=, <, <=, >, >=, FIELD~PART (contains) or FIELD? (not null)."
    " Repeat to combine with AND.",
)
LIMIT = limit_option(20, "rows")
JSON_LINES = "Print one JSON object per line."
FORMATS = ".jsonl .json .csv .xlsx .parquet .xml .sqlite .md; text formats also with .gz .zst .bz2 .xz"
_DELIMITERS = ",;|:^~#"


def _delimiter(_context: click.Context, _option: click.Parameter, value: str) -> str:
    delimiter = "\t" if value.lower() in {"tab", "\\t"} else value
    if delimiter != "\t" and (len(delimiter) != 1 or delimiter not in _DELIMITERS):
        raise click.BadParameter(f"one of {' '.join(_DELIMITERS)} or the word tab")
    return delimiter


_FILE_OPTIONS = (
    click.option(
        "--envelope",
        is_flag=True,
        help="Write the columns url, run, fingerprint, time, and data with the row itself as JSON.",
    ),
    click.option(
        "--excel", is_flag=True, help="Write CSV for spreadsheets: UTF-8 byte order mark, formulas escaped."
    ),
    click.option("--delimiter", default=",", callback=_delimiter, metavar="CHAR", help="CSV delimiter."),
    click.option("--split-rows", type=click.IntRange(1), metavar="N", help="Start a new file after N rows."),
    click.option(
        "--split-mb",
        type=click.FloatRange(0, 1_000_000, min_open=True),
        metavar="N",
        help="Start a new file after N megabytes (uncompressed).",
    ),
)

only_changes_option = click.option(
    "--only-changes",
    is_flag=True,
    help="Write only rows that are new or changed since the last completed run of the task.",
)


def output_file_option(help: str, *, required: bool = False) -> Callable[[F], F]:  # noqa: A002 - click's word
    """Add `-o FILE`, which may be repeated."""
    return click.option(
        *("-o", "--output", "outputs"),
        multiple=True,
        required=required,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"{help} ({FORMATS}); `-` writes JSON Lines to standard output; may be repeated.",
    )


def check_stdout_free(outputs: tuple[Path, ...], *, as_json: bool) -> None:
    """Raise `RequestInvalid` if rows and a JSON summary would both go to standard output."""
    from smartspider.core.errors import RequestInvalid
    from smartspider.outputs.stdout import STDOUT

    if as_json and STDOUT in outputs:
        raise RequestInvalid(
            "--json and -o - both write to standard output",
            hint="remove --json (the summary is on standard error), or write the rows to a file",
        )


def file_options(command: F) -> F:
    """Add the options of written files; pass the keyword arguments of the command to `output_options`."""
    for option in reversed(_FILE_OPTIONS):
        command = option(command)
    return command


def output_options(options: dict[str, Any]) -> OutputOptions:
    """Return the values of `file_options`."""
    from smartspider.interfaces.output import OutputOptions

    return OutputOptions(
        has_envelope=options["envelope"],
        is_for_excel=options["excel"],
        delimiter=options["delimiter"],
        split_rows=options["split_rows"],
        split_mb=options["split_mb"],
    )
