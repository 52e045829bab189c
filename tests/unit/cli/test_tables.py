"""Tables: as wide as the terminal, URLs cut in the middle."""

from __future__ import annotations

import pytest

from smartspider.cli.terminal.tables import cut_url, print_table

URL = "https://shop.example/a/long/path/to/some/product-12345"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        (URL, 100, URL),
        (URL, 21, "https://sh…duct-12345"),
        ("no URL, only a long text", 10, "no URL, only a long text"),
    ],
)
def test_a_url_is_cut_in_the_middle(text: str, width: int, shown: str) -> None:
    assert cut_url(text, width) == shown


@pytest.mark.parametrize("width", [60, 200])
def test_a_table_uses_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table([{"title": "x" * 50, "url": URL}], ("title", "url"))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert ("x" * 50 in out and URL in out) is (width == 200)
    assert "12345" in out
