"""`smartspider cookie upload`: domains as people write them, and cookies as browsers send them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smartspider.cli.main import main


@pytest.mark.parametrize(
    ("domain", "stored"),
    [
        ("Site.example.", "site.example"),
        (".site.example", "site.example"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_header_is_stored_for_a_domain_however_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], domain: str, stored: str
) -> None:
    written = tmp_path / "cookies.txt"
    written.write_text("Cookie: __Host-sid=1; theme=dark")
    options = ("--domain", domain, "--data", str(tmp_path / "d"), "--json")
    assert main(["cookie", "upload", str(written), *options]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["domain"], made["cookies"]) == (stored, 2)
