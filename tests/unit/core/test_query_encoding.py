from __future__ import annotations

import pytest

from smartspider.core.requests.query_encoding import encode_query
from smartspider.core.requests.urls import normal_url


@pytest.mark.parametrize(
    ("href", "charset", "encoded"),
    [
        ("/s?q=中文", "gb18030", "/s?q=%D6%D0%CE%C4"),
        ("/中?q=中#中", "gb18030", "/中?q=%D6%D0#中"),
        ("/s?q=цена&a=1", "windows-1251", "/s?q=%F6%E5%ED%E0&a=1"),
        ("/s?q=a é", "windows-1252", "/s?q=a %E9"),
        ("/s?q=価格", "cp932", "/s?q=%89%BF%8Ai"),
        ("/s?q=†", "big5hkscs", "/s?q=%26%238224%3B"),
        ("/s?q=é中", "windows-1252", "/s?q=%E9%26%2320013%3B"),
        ("/s?q=中", "utf-8", "/s?q=中"),
        ("/s?q=中", "utf-16-le", "/s?q=中"),
        ("/s#?q=中", "gb18030", "/s#?q=中"),
        ("/中", "gb18030", "/中"),
        ("/s?q=%D6%D0", "gb18030", "/s?q=%D6%D0"),
    ],
)
def test_the_query_is_encoded_in_the_charset_of_the_page(href: str, charset: str, encoded: str) -> None:
    assert encode_query(href, charset) == encoded


def test_the_path_of_a_link_stays_utf_8() -> None:
    url = normal_url(encode_query("/中?q=中", "gb18030"), "http://h/")
    assert url == "http://h/%E4%B8%AD?q=%D6%D0"
