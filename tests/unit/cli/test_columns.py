"""Lists in columns: aligned, as wide as the terminal, states coloured."""

from __future__ import annotations

import pytest

from smartspider.cli.terminal.columns import print_columns
from smartspider.cli.terminal.streams import safe_streams

URL = "https://shop.example/a/long/path/to/some/product-12345"
NAMES = ("run", "state", "task", "url", "note", "reason")
ROWS = [
    (12, "completed", "shop", URL, None, ""),
    (3, "failed", "网店", "https://shop.example/", None, "no entry URL could be fetched"),
]

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_list_is_whole_where_it_is_not_shown_on_a_terminal(capsys: Captured) -> None:
    print_columns(NAMES, ROWS)
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["RUN", "STATE", "TASK", "URL", "REASON"], "without the empty column"
    assert first == f" 12  completed  shop  {URL}"
    assert second.startswith("  3  failed     网店  https://shop.example/ ")
    assert second.endswith("no entry URL could be fetched")


@pytest.mark.parametrize("width", [60, 72, 100])
def test_lines_are_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_columns(NAMES, ROWS[:1] * 2 + [(*ROWS[1][:2], "x" * 30, *ROWS[1][3:])])
    out = capsys.readouterr().out.splitlines()
    assert max(map(len, out)) == width
    assert "completed" in out[1], "a state is never cut"
    assert "…" in out[1]
    assert out[1].rstrip().endswith("5"), "a URL keeps its end"


def test_optional_columns_are_left_out_of_a_narrow_list(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", "38")
    print_columns(NAMES, ROWS, optional=("url", "reason", "task"))
    assert capsys.readouterr().out.splitlines()[0].split() == ["RUN", "STATE", "TASK", "REASON"]


def test_a_state_has_its_colour(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with safe_streams():
        print_columns(NAMES[:3], [row[:3] for row in ROWS])
    _, first, second = capsys.readouterr().out.splitlines()
    assert first == " 12  \x1b[32mcompleted\x1b[0m  shop"
    assert second == "  3  \x1b[31mfailed\x1b[0m     网店"


def test_control_characters_do_not_reach_the_terminal(capsys: Captured) -> None:
    print_columns(("url",), [("http://a/\x1b[2J\n",)])
    assert capsys.readouterr().out == "URL\nhttp://a/\\u001b[2J\n"
