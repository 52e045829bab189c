"""Lists of URLs in text and CSV files: what is read, from which line, and what is refused."""

from __future__ import annotations

import pytest

from smartspider.taskfile.url_list import UrlListInvalid, read_url_list


def read(text: str, column: str | None = None, *wanted: str) -> list[tuple[int, str]]:
    found = read_url_list(text.encode(), column, frozenset(wanted))
    return list(zip(found.lines, found.urls, strict=True))


def refused(raw: bytes, column: str | None = None) -> tuple[int, str, str]:
    with pytest.raises(UrlListInvalid) as caught:
        read_url_list(raw, column)
    return caught.value.line, caught.value.reason, caught.value.hint


def test_empty_lines_and_comments_are_skipped_and_lines_are_numbered_as_in_an_editor() -> None:
    assert read("# shops\n\n  http://a/1  \n\t# more\nhttp://a/2#top\n") == [
        (3, "http://a/1"),
        (5, "http://a/2#top"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_understood(end: str) -> None:
    assert read(f"http://a/1{end}http://a/2{end}") == [(1, "http://a/1"), (2, "http://a/2")]
    assert read(f"url,n{end}http://a/1,1{end}http://a/2,2", "url") == [(2, "http://a/1"), (3, "http://a/2")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_not_part_of_the_first_line(encoding: str) -> None:
    assert read_url_list("http://a/é\n".encode(encoding), None).urls == ["http://a/é"]
    assert read_url_list("url\nhttp://a/é\n".encode(encoding), "url").urls == ["http://a/é"]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_delimiter_of_a_csv_file_is_found_in_its_header(mark: str) -> None:
    text = f'name{mark}url{mark}price\n"a{mark} b"{mark}http://a/1{mark}1\n'
    found = read_url_list(text.encode(), "url", frozenset({"name"}))
    assert (found.urls, found.values, found.columns) == (
        ["http://a/1"],
        {"name": [f"a{mark} b"]},
        ["name", "url", "price"],
    )


def test_a_delimiter_inside_a_quoted_name_is_not_the_delimiter() -> None:
    assert read('"a,b,c";url\nx;http://a/1', "url") == [(2, "http://a/1")]


def test_quoted_cells_may_hold_line_breaks_and_quotes() -> None:
    text = 'name,url\n"two\nlines",http://a/1\n"say ""hi""",http://a/2\n'
    found = read_url_list(text.encode(), "url", frozenset({"name"}))
    assert list(zip(found.lines, found.urls, strict=True)) == [(2, "http://a/1"), (4, "http://a/2")]
    assert found.values == {"name": ["two\nlines", 'say "hi"']}


def test_comments_above_the_header_empty_cells_and_short_rows_are_skipped() -> None:
    text = "# export\n\nsku,url\n1,\n2\n# old,#http://a/0\n3, http://a/3 ,extra\n"
    assert read(text, "url") == [(7, "http://a/3")]


def test_only_wanted_columns_are_kept_and_a_missing_cell_is_empty() -> None:
    found = read_url_list(b"url,sku,name\nhttp://a/1\nhttp://a/2,2,b\n", "url", frozenset({"sku", "other"}))
    assert found.values == {"sku": ["", "2"]}


def test_a_misspelt_column_gets_the_nearest_one_as_a_hint() -> None:
    line, reason, hint = refused(b"\nlinks,name\nhttp://a/1,x", "link")
    assert (line, reason, hint) == (2, "there is no column 'link'", "did you mean 'links'?")
    assert "columns: links, name" in refused(b"links,name\nhttp://a/1,x", "website")[2]


def test_a_csv_file_read_as_lines_is_told_about_column() -> None:
    line, _, hint = refused(b"sku;url\n1;http://a/1")
    assert line == 1
    assert '"column"' in hint
    assert "sku, url" in hint


def test_a_header_of_one_column_is_named() -> None:
    line, _, hint = refused(b"Link\nhttp://a/1")
    assert line == 1
    assert '"column"' in hint
    assert "Link" in hint


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    assert refused(b"http://a/1\nhttp://a/\xff\n")[0] == 2


def test_a_quote_that_is_never_closed_is_refused_instead_of_swallowing_rows() -> None:
    line, reason, _ = refused(b'url,name\nhttp://a/1,"x\nhttp://a/2,y\n', "url")
    assert "CSV" in reason
    assert line >= 2


@pytest.mark.parametrize(("text", "column"), [(b"", None), (b"# nothing\n\n", None), (b"url\n\n", "url")])
def test_a_file_without_urls_is_refused(text: bytes, column: str | None) -> None:
    assert "no URLs" in refused(text, column)[1]
