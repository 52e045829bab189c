"""`init`, `validate`, `schema`: task files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.exit_codes import Exit
from smartspider.cli.own_functions import expect_functions
from smartspider.cli.tasks.loading import TaskFile
from smartspider.cli.terminal.output import print_json, print_line, print_message, printed
from smartspider.taskfile.template import template_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from smartspider.core.errors import Problem, TaskInvalid
    from smartspider.services.tasks.checks import CheckedTask


class Validation(msgspec.Struct, frozen=True):
    """The result of `validate`: the checked task, or the error."""

    path: Path
    checked: CheckedTask | None = None
    error: TaskInvalid | None = None

    @property
    def warnings(self) -> Sequence[Problem]:
        """The warnings about a valid task."""
        return () if self.checked is None else self.checked.warnings


@click.command(epilog=f"\b\nTemplates:\n{template_list()}")
@click.argument("path", type=click.Path(path_type=Path), default=Path("task.json"))
@click.option("--template", "-t", "name", default="list", show_default=True, help="Template to use.")
@click.option("--url", default=None, help="Entry URL of the task.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@printed(
    message="wrote {0[path]}; next: smartspider dry-run {0[path]}",
    about="Print a summary as JSON.",
)
def init(path: Path, name: str, url: str | None, *, force: bool) -> dict[str, str]:
    """Write a starter task file from one of the templates below; YAML if the name ends in .yaml or .yml."""
    from smartspider.core.errors import NotAllowed, StoreUnavailable
    from smartspider.taskfile.template import render_template

    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    text = render_template(name, url=url, task_name=path.stem, as_yaml=is_yaml)
    if path.exists() and not force:
        raise NotAllowed(f"{path} exists", hint="choose another name, or add --force")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "" if path.parent.is_dir() else f"create the folder {path.parent} first"
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}", hint=hint) from error
    return {"path": str(path), "template": name}


def _print_validation(found: Validation) -> None:
    if found.error is not None:
        raise found.error
    for problem in found.warnings:
        print_message(f"note: {problem.path}: {problem.message}")
    unsupported = ", but this version cannot run it yet" if found.checked and found.checked.missing else ""
    print_line(f"{found.path} is a valid task{unsupported}")


def _validation_json(found: Validation) -> dict[str, Any]:
    error = found.error
    if error is None:
        return {"valid": True, "errors": [], "warnings": _problems_json(found.warnings)}
    whole = {"path": "", "message": error.message, "hint": error.hint}
    return {"valid": False, "errors": _problems_json(error.problems) or [whole]}


def _problems_json(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"path": one.path, "message": one.message, "hint": one.hint} for one in problems]


@click.command()
@click.argument("task", type=TaskFile())
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Override a value of the task.")
@printed(
    _print_validation,
    to_json=_validation_json,
    exit_code=lambda found: Exit.OK if found.error is None else Exit.USAGE,
    about="Print the result as JSON.",
)
def validate(task: Path, settings: tuple[str, ...]) -> Validation:
    """Check a task file and report all problems at once."""
    from smartspider.cli.tasks.loading import load_task_file
    from smartspider.core.errors import TaskInvalid
    from smartspider.services.tasks.checks import check_task

    try:
        loaded = load_task_file(task, settings)
        if loaded.functions is not None:
            expect_functions()
        return Validation(task, checked=check_task(loaded, is_local=True))
    except TaskInvalid as error:
        return Validation(task, error=error)


@click.command()
@click.option(
    *("--item", "task"),
    type=TaskFile(),
    default=None,
    metavar="TASK",
    help="Print the schema of this task's rows instead.",
)
@printed(print_json, about="No effect; the schema is always JSON.")
def schema(task: Path | None) -> Any:
    """Print the JSON Schema of task files, or of the rows of a task, for editors and other programs."""
    from smartspider.taskfile.schema import task_schema

    return task_schema() if task is None else _row_schema(task)


def _row_schema(task: Path) -> object:
    from smartspider.cli.tasks.loading import load_task_file
    from smartspider.services.plans import compile_plan, row_schema
    from smartspider.taskfile.compile import compile_task

    plan = compile_task(load_task_file(task))
    if plan.runs_functions:
        expect_functions()
    compile_plan(plan, is_local=True)
    return row_schema(plan)
