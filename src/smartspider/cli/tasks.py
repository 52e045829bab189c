"""`init`, `validate`, `schema`."""

from __future__ import annotations

from pathlib import Path

import click

from smartspider.cli.exit_codes import Exit
from smartspider.cli.output import print_json, say, tell
from smartspider.taskfile.template import template_list


@click.command(epilog=f"\b\nTemplates:\n{template_list()}")
@click.argument("path", type=click.Path(path_type=Path), default=Path("task.json"))
@click.option("--template", "-t", "name", default="list", show_default=True, help="Which one to start from.")
@click.option("--url", default=None, help="Entry URL to put into it.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def init(path: Path, name: str, url: str | None, *, force: bool, as_json: bool) -> None:
    """Write a task file to start from, after one of the templates below."""
    from smartspider.core.errors import NotAllowed, StoreUnavailable
    from smartspider.taskfile.template import render_template

    text = render_template(name, url=url, task_name=path.stem)
    if path.exists() and not force:
        raise NotAllowed(f"{path} exists", hint="choose another name, or add --force")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "" if path.parent.is_dir() else f"make the folder {path.parent} first"
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}", hint=hint) from error
    if as_json:
        print_json({"path": str(path), "template": name})
    say(f"wrote {path}; next: smartspider dry-run {path}")


@click.command()
@click.argument("task", type=click.Path(path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="A.B=JSON", help="Change a value of the task.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def validate(task: Path, settings: tuple[str, ...], *, as_json: bool) -> int:
    """Check a task file: everything wrong with it at once, or that it is fine."""
    from smartspider.core.errors import TaskInvalid
    from smartspider.services.tasks.checking import check_task
    from smartspider.taskfile.load import load_task

    try:
        checked = check_task(load_task(task, settings))
    except TaskInvalid as error:
        if not as_json:
            raise
        problems = [{"path": one.path, "message": one.message, "hint": one.hint} for one in error.problems]
        print_json(
            {
                "valid": False,
                "errors": problems or [{"path": "", "message": error.message, "hint": error.hint}],
            }
        )
        return Exit.USAGE
    if as_json:
        warnings = [{"path": one.path, "message": one.message, "hint": one.hint} for one in checked.warnings]
        print_json({"valid": True, "errors": [], "warnings": warnings})
        return Exit.OK
    for problem in checked.warnings:
        say(f"note: {problem.path}: {problem.message}")
    tell(f"{task} is a valid task" + (", but this version cannot run it yet" if checked.missing else ""))
    return Exit.OK


@click.command()
@click.option(
    *("--item", "task"),
    type=click.Path(path_type=Path),
    default=None,
    metavar="TASK",
    help="The schema of the rows that this task gives instead.",
)
@click.option("--json", "_as_json", is_flag=True, help="The schema is JSON in any case.")
def schema(task: Path | None, *, _as_json: bool) -> None:
    """Print the JSON Schema of task files, or of the rows of a task, for editors and other programs."""
    from smartspider.taskfile.schema import task_schema

    print_json(task_schema() if task is None else _row_schema(task))


def _row_schema(task: Path) -> object:
    from smartspider.services.results.columns import schema_of
    from smartspider.services.runs.compiled import compile_plan
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import load_task

    plan = compile_task(load_task(task))
    compile_plan(plan)
    return schema_of(plan)
