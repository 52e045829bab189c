from __future__ import annotations

import codecs
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.fetch.charset.detection import detect_charset
from smartspider.fetch.charset.labels import CODECS
from smartspider.fetch.charset.meta import SCANNED_BYTES, find_meta_charset


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("utf-8", "utf-8"),
        ("UTF8", "utf-8"),
        ("gb2312", "gb18030"),
        ("gbk", "gb18030"),
        ("iso-8859-1", "windows-1252"),
        ("latin1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("ISO-8859-9", "windows-1254"),
        ("Shift_JIS", "cp932"),
        ("euc-kr", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("big5", "big5hkscs"),
        ("windows-1251", "windows-1251"),
        ('"utf-8"', "utf-8"),
        ("'koi8-r'", "koi8-r"),
        ("utf-16", "utf-16-le"),
    ],
)
def test_the_header_names_the_charset_by_any_label_of_the_web(label: str, codec: str) -> None:
    assert detect_charset(b"\xe9", f"text/html; Charset={label}") == codec
    assert detect_charset(b"\xe9", f"text/html;x=y; charset = {label} ;q=1") == codec


def test_every_label_leads_to_a_codec_python_has() -> None:
    for codec in set(CODECS.values()):
        codecs.lookup(codec)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")],
)
def test_a_byte_order_mark_beats_the_header_and_is_not_text(mark: bytes, codec: str) -> None:
    inner = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"}[codec]
    body = mark + "价格".encode(inner)
    assert detect_charset(body, "text/html; charset=gbk") == codec
    assert body.decode(codec) == "价格"


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("<meta charset=gbk>", "gb18030"),
        ("<META CharSet='windows-1251' />", "windows-1251"),
        ('<meta name=x content="a"><meta charset = "koi8-r">', "koi8-r"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">', "euc-jp"),
        ('<meta content="text/html; charset=big5" http-equiv=content-type>', "big5hkscs"),
        ("<!-- <meta charset=gbk> --><meta charset=koi8-r>", "koi8-r"),
        ("<!-- a > b <meta charset=gbk> --><meta charset=koi8-r>", "koi8-r"),
        ("<!--><meta charset=gbk>", "gb18030"),
        ('<a title="<meta charset=gbk>"></a><meta charset=koi8-r>', "koi8-r"),
        ("<meta charset=klingon><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=utf-16le>", "utf-8"),
        ('<?xml version="1.0" encoding="ISO-8859-2"?><r/>', "iso8859-2"),
        ("<?xml version='1.0' encoding='utf-16'?>", "utf-8"),
        (" " * 5000 + "<meta charset=gbk>", "gb18030"),
        ("<html lang=a><head><script>" + "<p>x</p>" * 999 + "</script><meta charset=gbk>", "gb18030"),
        ("<head><title>a <b> c</title><base href=/>" + "<link>" * 999 + "<META charset=gbk>", "gb18030"),
        ("<p><div></div><meta charset=gbk>", "gb18030"),
        ("</head><body><meta charset=gbk>", "gb18030"),
        ('<meta charset="&#103;bk">', "gb18030"),
        ("<title>it's</title><meta charset=gbk>", "gb18030"),
        ("<meta name=a'b content='x'><meta charset=gbk>", "gb18030"),
    ],
)
def test_the_page_names_its_charset(head: str, codec: str) -> None:
    body = head.encode() + b"<p>\xe4\xf6"
    assert detect_charset(body, "text/html") == codec
    assert detect_charset(body, "") == codec
    assert detect_charset(body, "text/html; charset=klingon") == codec


@pytest.mark.parametrize(
    "head",
    [
        "<!-- <meta charset=gbk> ",
        "<meta http-equiv=refresh content='charset=gbk'>",
        "<metal charset=gbk>",
        "<p>" + " " * 1024 + "<meta charset=gbk>",
        "<head></head>" + " " * 1024 + "<meta charset=gbk>",
        "<script><meta charset=gbk></script>",
        "<script>'<meta charset=gbk>'",
        "<style><meta charset=gbk></style>",
        "<title><meta charset=gbk></title>",
        "<textarea><meta charset=gbk></textarea>",
        "<![CDATA[<meta charset=gbk>]]>",
        " " * SCANNED_BYTES + "<meta charset=gbk>",
    ],
)
def test_what_is_no_declaration_is_passed_over(head: str) -> None:
    assert detect_charset(head.encode(), "text/html") == "utf-8"


def test_only_markup_can_name_its_charset() -> None:
    assert detect_charset(b'{"a": "<meta charset=gbk>"}', "application/json") == "utf-8"


def test_xml_in_utf_16_without_a_mark_is_seen() -> None:
    assert detect_charset("<?xml version='1.0'?>".encode("utf-16-le"), "text/xml") == "utf-16-le"
    assert detect_charset("<?xml version='1.0'?>".encode("utf-16-be"), "text/xml") == "utf-16-be"


def test_valid_utf_8_is_utf_8_even_when_the_check_cuts_a_letter() -> None:
    assert detect_charset("价".encode() * 400_000, "text/html") == "utf-8"
    assert detect_charset(b"", "") == "utf-8"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("这是一个中文网页,内容是关于爬虫的说明。", "gb18030"),
        ("これは日本語のページです。よろしくお願いします。", "cp932"),
        ("Это русская страница про пауков и сети. ", "windows-1251"),
        ("Größer und schöner als früher, liebe Straße. ", "windows-1252"),
        ("Voilà un café très agréable, où l'on mange bien. ", "windows-1252"),
    ],
)
def test_undeclared_text_is_guessed(text: str, codec: str) -> None:
    body = f"<html><body>{text * 20}".encode(codec)
    assert body.decode(detect_charset(body, "text/html")).endswith(text)


def test_binary_bodies_are_not_searched() -> None:
    assert detect_charset(bytes(range(256)) * 100, "image/png") == "utf-8"


@given(body=st.binary(max_size=300), content_type=st.text(max_size=40))
def test_every_answer_is_a_codec_that_can_read_the_body(body: bytes, content_type: str) -> None:
    body.decode(detect_charset(body, content_type), errors="replace")


@pytest.mark.parametrize(
    "part", [b"<a b='", b"<!--", b"<script>", b"<a =", b"</", b"<meta charset=x ", b"<<"], ids=repr
)
def test_open_markup_is_scanned_once(part: bytes) -> None:
    # Scanned again from every tag it would run into the time limit of the suite.
    assert find_meta_charset(b"charset" + part * (SCANNED_BYTES // len(part))) is None


def test_the_common_case_is_fast() -> None:
    body = b"<html>" + b"x" * 23_000
    seconds = min(
        timeit.repeat(lambda: detect_charset(body, "text/html; charset=utf-8"), number=1000, repeat=20)
    )
    assert seconds / 1000 < 10e-6  # measured at 1 us; the rest is for busy machines


@pytest.mark.parametrize("text", ["<p>d\xe9j\xe0 vu</p>", "<b>\xa39.99</b>", "<p>a\xf1o nuevo</p>"])
def test_western_text_without_a_declaration_is_read_as_such(text: str) -> None:
    body = text.encode("latin-1")
    assert body.decode(detect_charset(body, "text/html")) == text


def test_a_stray_byte_does_not_make_a_utf8_page_something_else() -> None:
    assert detect_charset("<p>\u4ef7\u683c 100 \u20ac ".encode() * 30 + b"\xff", "text/html") == "utf-8"
