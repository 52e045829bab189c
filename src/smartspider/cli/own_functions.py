"""Run functions of the user's Python files in a command."""

from __future__ import annotations

from smartspider.cli.program import is_program
from smartspider.cli.terminal.streams import separate_results


def expect_functions(*, has_prompt: bool = False) -> None:
    """Prepare for functions: what they print goes to standard error, and a call of `os._exit` is reported
    and gives exit code 6. A command that prompts keeps its terminal.
    """
    if not is_program():
        return
    if not has_prompt:
        separate_results()
    from smartspider.wiring.processes.guard import outlived

    outlived()
