"""The interactive session of `shell`: each line is a rule to try, or a command."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from smartspider.cli.crawl.fetch_options import fetch_by, with_headers
from smartspider.cli.terminal.output import print_json_line, print_line, print_message
from smartspider.cli.terminal.tables import cell_text, print_table
from smartspider.core.errors import RequestInvalid, SmartSpiderError, TaskInvalid
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import EXPRESSIONS, RuleType
from smartspider.core.plurals import count
from smartspider.core.requests.urls import normal_url
from smartspider.services.preview.rules import VALUE, RuleResult, apply_rules, build_task, parse_rule
from smartspider.taskfile.load import parse_local_task
from smartspider.wiring.preview.command_fetch import command_plan

SHOWN = 20
HELP = """\
  h2.title::text           try a CSS selector (shows all matches)
  //h2/text()              try XPath
  jmespath EXPR            try JMESPath on a JSON page
  regex PATTERN            try a regular expression on the source
  data KIND [EXPR]         structured data of the page: json_ld, microdata, opengraph, state, feed,
                           article, product, list, tables, links, markdown
  {"type": ..., ...}       try a rule object
  items RULE | items -     apply rules inside these elements | in the whole page
  add NAME RULE            add a field
  drop NAME                remove a field
  show                     the rows so far, as a table
  task                     the task so far
  save FILE                write the task
  fetch URL                load another page
  page                     status, size and headers
  source [TEXT]            the source around a text
  help, quit"""


class ShellSession:
    """A page, the fields added so far, and the commands on them."""

    def __init__(self, headers: Mapping[str, str], *, obey_robots: bool, as_json: bool = False) -> None:
        self._headers = headers
        self._obey_robots = obey_robots
        self._as_json = as_json
        self._url = ""
        self._page: Page | None = None
        self._items: Any = None
        self._fields: dict[str, Any] = {}
        self._commands: dict[str, Callable[[str], None]] = {
            "jmespath": lambda rest: self._try({"type": "jmespath", "expr": rest}),
            "regex": lambda rest: self._try({"type": "regex", "expr": rest}),
            "data": self._data,
            "items": self._set_items,
            "add": self._add,
            "drop": self._drop,
            "show": self._show,
            "task": self._print_task,
            "save": self._save,
            "fetch": self._fetch,
            "page": self._describe,
            "source": self._source,
            "help": lambda _: print_message(HELP),
        }

    def run(self, url: str) -> None:
        """Fetch the page, then read and execute lines until `quit` or the end of input."""
        self._fetch(url)
        print_message("enter a selector to try it, `help` for commands, `quit` to exit")
        for line in _lines():
            if line in {"quit", "exit"}:
                return
            try:
                self._execute(line)
            except RequestInvalid as error:
                for problem in error.problems:
                    print_message(f"  {problem.line}")
                if not error.problems:
                    print_message(f"  {error.message}")
            except SmartSpiderError as error:
                print_message(f"  {error.line}")

    def _execute(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        command = self._commands.get(word)
        if command is not None:
            command(rest.strip())
        else:
            self._try(_rule(line))

    def _try(self, rule: Any) -> None:
        """Print what a rule finds in the page, or in each item if items are set."""
        many = {**rule, "many": True} if isinstance(rule, dict) else {"expr": rule, "many": True}
        tried = self._apply({VALUE: many})
        if self._items is not None:
            self._print_values([item[VALUE] for item in tried.items])
            found = sum(1 for item in tried.items if item[VALUE])
            print_message(f"  {found} of {count(len(tried.items), 'item')} ({tried.engine})")
            return
        values = tried.items[0][VALUE] if tried.items else []
        values = values if isinstance(values, list) else [values]
        self._print_values(values)
        print_message(f"  {len(values)} {'match' if len(values) == 1 else 'matches'} ({tried.engine})")

    def _print_values(self, values: list[Any]) -> None:
        if self._as_json:
            print_json_line(values)
            return
        for value in values[:SHOWN]:
            print_line(f"  {cell_text(value)}")

    def _apply(self, fields: dict[str, Any]) -> RuleResult:
        assert self._page is not None  # noqa: S101 - fetched before the first line is read
        return apply_rules(self._task(fields), self._page, Path())

    def _task(self, fields: dict[str, Any]) -> dict[str, Any]:
        selectors = {"fields": fields} if self._items is None else {"items": self._items, "fields": fields}
        return build_task(self._url, selectors)

    def _data(self, rest: str) -> None:
        kind, _, expr = rest.partition(" ")
        kinds = [name for name in get_args(RuleType) if name not in EXPRESSIONS]
        if kind not in kinds:
            print_message(f"  data KIND [EXPR], where KIND is one of {', '.join(kinds)}")
            return
        rule = {"type": kind, **({"expr": expr.strip()} if expr.strip() else {})}
        tried = self._apply({VALUE: rule})
        for item in tried.items[:SHOWN]:
            if self._as_json:
                print_json_line(item[VALUE])
            else:
                print_line(json.dumps(item[VALUE], ensure_ascii=False, indent=2))

    def _set_items(self, rest: str) -> None:
        if rest in {"", "-"}:
            self._items = None
            print_message("  rules apply to the whole page")
            return
        before, self._items = self._items, _rule(rest)
        try:
            tried = self._apply({VALUE: {"type": "const", "expr": 1}})
        except SmartSpiderError:
            self._items = before
            raise
        print_message(f"  {count(len(tried.items), 'item')}; rules apply inside them")

    def _add(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        if not text.strip():
            print_message("  add NAME RULE, for example: add title h2::text")
            return
        fields = {**self._fields, name: _rule(text.strip())}
        tried = self._apply(fields)
        self._fields = fields
        found = sum(1 for item in tried.items if item[name] not in (None, "", []))
        sample = next((cell_text(item[name]) for item in tried.items if item[name]), "")
        print_message(f"  {name}: in {found} of {count(len(tried.items), 'item')}, for example {sample!r}")

    def _drop(self, name: str) -> None:
        if self._fields.pop(name, None) is None:
            print_message(f"  no field named {name!r}")

    def _show(self, _: str) -> None:
        if not self._fields:
            print_message("  no fields yet: add NAME RULE")
            return
        tried = self._apply(self._fields)
        if self._as_json:
            print_json_line(tried.items)
            return
        print_table(tried.items[:SHOWN], list(self._fields), count(len(tried.items), "row"))

    def _print_task(self, _: str) -> None:
        print_line(json.dumps(self._whole_task(None), ensure_ascii=False, indent=2))

    def _whole_task(self, path: Path | None) -> dict[str, Any]:
        task = with_headers(self._task(self._fields), dict(self._headers))
        return {**task, "name": path.stem if path else "task"}

    def _save(self, rest: str) -> None:
        names = shlex.split(rest)
        if len(names) != 1:
            print_message("  save FILE, for example: save task.json")
            return
        path = Path(names[0])
        task = self._whole_task(path)
        parse_local_task(task, path.parent)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(json.dumps(task, ensure_ascii=False, indent=2) + "\n")
        except FileExistsError:
            print_message(f"  {path} exists; choose another name")
        except OSError as error:
            print_message(f"  {path} cannot be written: {error.strerror}")
        else:
            print_message(f"  wrote {path}; next: smartspider dry-run {path}")

    def _fetch(self, url: str) -> None:
        url = (normal_url(url, self._page.url) if self._page else None) or url
        self._page = fetch_by(command_plan(url, self._headers), obey_robots=self._obey_robots)
        self._url = url
        self._describe("")

    def _describe(self, rest: str) -> None:
        page = self._page
        assert page is not None  # noqa: S101 - fetched before the first line is read
        size = count(len(page.body), "byte")
        print_message(f"{page.status} {page.url} ({page.media_type or 'no media type'}, {size})")
        for name, value in page.headers.items() if rest == "headers" else ():
            print_message(f"  {name}: {value}")

    def _source(self, text: str) -> None:
        assert self._page is not None  # noqa: S101 - fetched before the first line is read
        source = self._page.text
        at = source.find(text)
        if at < 0:
            print_message(f"  {text!r} is not in the source")
            return
        print_line(source[max(0, at - 200) : at + 600] if text else source[:2000])


def _rule(text: str) -> Any:
    """Parse a rule: a JSON object, or a plain selector."""
    if text.startswith(("{", "[{", '["')):
        try:
            return json.loads(text)
        except ValueError as error:
            raise TaskInvalid(f"invalid JSON: {error}") from error
    return parse_rule(text)


def _lines() -> Iterator[str]:
    """Yield the lines typed at a terminal or read from a pipe."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401 - importing it is what makes the arrow keys work
    while True:
        try:
            line = input("> " if is_terminal else "")
        except EOFError:
            return
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            return
        if line.strip():
            yield line.strip()
