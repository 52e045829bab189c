"""Output formats of installed packages, written as CONTRIBUTING.md says."""

from __future__ import annotations

import gzip
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.output import PLAIN, OutputOptions
from smartspider.services.results.outputs import check_outputs, media_type, open_stream, write_outputs
from smartspider.store.results.rows import StoredItem
from smartspider_testing.plugin_packages import install_package

ROOT = Path(__file__).parents[3]
COLUMNS = [TableColumn("name"), TableColumn("price", "number")]
OWN_CLASS = """
from pathlib import Path


class LinesOutput:
    def __init__(self, path, columns, options):
        self.path, self.rows = path, []

    def write_encoded(self, data):
        self.rows.append(data)

    def seal(self): ...

    def commit(self):
        self.path.write_bytes(b"\\n".join(self.rows))

    def abort(self): ...

    def files(self):
        return [str(self.path)]

    def notes(self):
        return ["one remark"]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both packages, in a folder on the path."""
    document = (ROOT / "CONTRIBUTING.md").read_text()
    source = re.findall(r"^```python\n(\"\"\"spider_toml.*?)^```", document, re.MULTILINE | re.DOTALL)[0]
    found = re.findall(r'^\[project\.entry-points\."(.+)"\]\n((?:\w.*\n)+)', document, re.MULTILINE)
    ((group, points),) = [one for one in found if "spider_toml" in one[1]]
    folder = tmp_path / "site-packages"
    install_package(folder, "spider_toml", source, f"[{group}]\n{points.replace(chr(34), '')}")
    lines = "[smartspider.outputs]\nlines = spider_lines:LinesOutput\n"
    install_package(folder, "spider_lines", OWN_CLASS, lines)
    monkeypatch.syspath_prepend(folder)
    yield
    for module in ("spider_toml", "spider_lines"):
        sys.modules.pop(module, None)


async def batches() -> AsyncIterator[Sequence[StoredItem]]:
    rows = [b'{"name":"Tea \\"green\\"","price":1.5}', b'{"name":"Cup","price":null}']
    yield [StoredItem(number, 1, f"http://h/{number}", row, 0.0, 1) for number, row in enumerate(rows)]


async def test_a_format_written_after_the_guide_writes_files(tmp_path: Path) -> None:
    path, packed = tmp_path / "rows.toml", tmp_path / "rows.toml.gz"
    check_outputs([path, packed], PLAIN, COLUMNS)
    written = await write_outputs(batches(), [path, packed], COLUMNS)
    assert (written.rows, written.files) == (2, [str(path), str(packed)])
    assert tomllib.loads(path.read_text()) == {
        "items": [{"name": 'Tea "green"', "price": "1.5"}, {"name": "Cup"}]
    }
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    assert media_type(path) == "application/toml"
    assert media_type(packed) == "application/gzip"


async def test_such_a_format_is_split_and_streamed(tmp_path: Path) -> None:
    options = OutputOptions(split_rows=1)
    written = await write_outputs(batches(), [tmp_path / "rows.toml"], COLUMNS, options)
    assert [Path(file).name for file in written.files] == ["rows-000001.toml", "rows-000002.toml"]
    opened = open_stream(tmp_path / "sent.toml", COLUMNS, PLAIN)
    assert opened is not None
    output, streamed = opened
    output.write({"name": "Tea"})
    output.seal()
    assert tomllib.loads(streamed.take().decode()) == {"items": [{"name": "Tea"}]}


async def test_a_class_of_its_own_needs_only_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "rows.lines"
    written = await write_outputs(batches(), [path], COLUMNS)
    assert path.read_bytes().count(b"\n") == 1
    assert written.notes == ["one remark"]
    assert media_type(path) == "application/octet-stream"
    assert open_stream(path, COLUMNS, PLAIN) is None
    with pytest.raises(RequestInvalid, match=r"rows\.lines"):
        check_outputs([tmp_path / "rows.lines.gz"], PLAIN, COLUMNS)
