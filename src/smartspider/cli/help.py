"""`help` shows the help of a command, as with `--help`; `completion` prints or installs shell completion."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.errors import RequestInvalid, StoreUnavailable


@click.command("help", add_help_option=False)
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@printed(print_line, to_json=lambda text: {"help": text})
@click.pass_context
def help_command(ctx: click.Context, names: tuple[str, ...]) -> str:
    """Show the help of a command: `smartspider help run start`."""
    assert ctx.parent is not None  # noqa: S101 - this command belongs to a group
    shown = ctx.parent
    for name in names:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"{shown.command_path!r} has no commands of its own", ctx)
        _, command, _ = shown.command.resolve_command(shown, [name])
        assert command is not None  # noqa: S101 - an unknown name raises
        shown = click.Context(command, info_name=name, parent=shown)
    return shown.get_help()


SHELLS = ("bash", "zsh", "fish")
_FILES = {
    "bash": "~/.local/share/bash-completion/completions/smartspider",
    "zsh": "~/.zfunc/_smartspider",
    "fish": "~/.config/fish/completions/smartspider.fish",
}
"""Where each shell looks for completions of a user; zsh only if its `fpath` says so."""
_ZSHRC = "fpath+=~/.zfunc; autoload -Uz compinit && compinit  # completion of smartspider"


class Completion(msgspec.Struct, frozen=True):
    """The completion script of a shell, and the file it was installed in."""

    shell: str
    script: str
    path: str | None = None


def _print(found: Completion) -> None:
    if found.path is None:
        print_line(found.script)


def _message(found: Completion) -> str:
    where = f"completion of {found.shell} is installed in {found.path}; open a new shell to use it"
    return where if found.path else ""


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", is_flag=True, help="Write the script where the shell loads it.")
@printed(_print, message=_message)
def completion(shell: str | None, *, install: bool) -> Completion:
    """Print the completion script of a shell, by default of the one in $SHELL; or install it."""
    name = shell or _current_shell()
    script = _script(name)
    return Completion(name, script, str(_install(name, script)) if install else None)


def _current_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise RequestInvalid(
            f"no completion for the shell {name!r}" if name else "the shell is unknown: SHELL is not set",
            hint="name one: `smartspider completion bash|zsh|fish`",
        )
    return name


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from smartspider.cli.commands import app

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click completes all of SHELLS
    return kind(app, {}, "smartspider", "_SMARTSPIDER_COMPLETE").source()


def _install(shell: str, script: str) -> Path:
    path = Path(_FILES[shell]).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")
        if shell == "zsh":
            _add_line(Path("~/.zshrc").expanduser(), _ZSHRC)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write {path}: {error.strerror}", hint="`smartspider completion` prints the script"
        ) from error
    return path


def _add_line(path: Path, line: str) -> None:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if line in text:
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n" if not text or text.endswith("\n") else f"\n{line}\n")
