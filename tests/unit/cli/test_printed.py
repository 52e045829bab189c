"""The decorator that prints what a command returns."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from smartspider.cli.exit_codes import Exit
from smartspider.cli.terminal.output import print_line, printed


def _print_names(names: list[str]) -> None:
    for name in names:
        print_line(name)


@click.command()
@click.argument("names", nargs=-1)
@printed(
    _print_names,
    message="{0[0]} is first",
    exit_code=lambda names: Exit.OK if len(names) > 1 else Exit.FAILED,
    about="Print the names as JSON.",
)
def listing(names: tuple[str, ...]) -> list[str]:
    """List names."""
    return [*names]


@click.command()
@printed(_print_names, to_json=lambda names: [{"name": name} for name in names], per_line=True)
def lines() -> list[str]:
    """List names line by line."""
    return ["a", "b"]


def test_lines_go_to_stdout_and_the_message_to_stderr() -> None:
    done = CliRunner().invoke(listing, ["a", "b"])
    assert (done.stdout, done.stderr) == ("a\nb\n", "a is first\n")


def test_json_replaces_the_lines_and_keeps_the_message() -> None:
    done = CliRunner().invoke(listing, ["--json", "a", "b"])
    assert json.loads(done.stdout) == ["a", "b"]
    assert done.stderr == "a is first\n"


def test_json_can_be_one_line_per_element() -> None:
    done = CliRunner().invoke(lines, ["--json"])
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(("names", "code"), [(["a", "b"], Exit.OK), (["a"], Exit.FAILED)])
def test_the_value_decides_the_exit_code(names: list[str], code: Exit) -> None:
    done = CliRunner().invoke(listing, names, standalone_mode=False)
    assert done.return_value == code


def test_the_option_has_its_own_help() -> None:
    assert "Print the names as JSON." in CliRunner().invoke(listing, ["--help"]).output
