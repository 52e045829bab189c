"""A Redis that cannot be used: one plain line, and what to do."""

from __future__ import annotations

import pytest

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.errors import USUAL, translate_error
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import FrontierUnavailable


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("Error 111 connecting to 10.0.0.5:6379. Connection refused.", "Connection refused", USUAL),
        ("Error -2 connecting to h:6379. Name or service not known.", "Name or service not known.", "name"),
        (
            "Error while reading from h:6379 : (104, 'Connection reset by peer')",
            "Connection reset by peer",
            "rediss://",
        ),
        ("WRONGPASS invalid username-password pair", "WRONGPASS invalid username-password pair", "password"),
        ("Authentication required.", "Authentication required.", "password"),
        ("DB index is out of range", "DB index is out of range", "redis://HOST:6379/0"),
        ("MOVED 3999 10.0.0.6:6379", "MOVED 3999 10.0.0.6:6379", "redis+cluster://"),
        ("Cluster mode is not enabled on this node", "Cluster mode is not enabled on this node", "redis://"),
    ],
)
def test_a_refusal_is_told_in_few_words_with_what_to_do(text: str, words: str, hint: str) -> None:
    said, advice = translate_error(ConnectionError(text))
    assert said == words
    assert hint in advice


async def test_sentinels_that_are_away_are_told_one_by_one() -> None:
    shards = Shards(read_url("redis+sentinel://127.0.0.1:1/mymaster"))
    with pytest.raises(FrontierUnavailable) as said:
        await shards.call(0, "look")
    await shards.close()
    reason = "no Sentinel names a master 'mymaster': 127.0.0.1:1: Connection refused"
    assert said.value.message.endswith(f"cannot be used: {reason}")
    assert "Sentinels" in said.value.hint
