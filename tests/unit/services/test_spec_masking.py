"""Tasks with their secrets masked."""

from __future__ import annotations

import json

from smartspider.services.tasks.masking import mask_changes, mask_spec
from smartspider.services.tasks.spec_diff import diff_specs

SPEC = {
    "name": "shop",
    "entry_urls": [
        "http://ann:word@h.example/?token=abcdef",
        {"url": "http://h.example/", "headers": {"Cookie": "sid=1"}},
    ],
    "selectors": {"fields": {"token": {"type": "css", "expr": ".token::text"}, "title": "h1"}},
    "fetch": {"headers": {"Authorization": "Bearer abcdef", "Accept": "text/html", "X-Api-Key": "abcdef"}},
    "pages": {"api": {"fetch": {"headers": {"X-Auth-Token": "abcdef", "Accept": "text/json"}}}},
    "layers": [{"use": "hmac", "secret": "abcdef", "header": "X-Sign"}],
    "concurrency": 4,
    "use_cookie": True,
    "cookie_id": 3,
}


def test_secrets_in_headers_and_urls_are_left_out_and_nothing_else() -> None:
    shown = json.loads(mask_spec(json.dumps(SPEC).encode()))
    assert shown == {
        **SPEC,
        "entry_urls": [
            "http://[redacted]@h.example/?token=[redacted]",
            {"url": "http://h.example/", "headers": {"Cookie": "[redacted]"}},
        ],
        "fetch": {
            "headers": {"Authorization": "[redacted]", "Accept": "text/html", "X-Api-Key": "[redacted]"}
        },
        "pages": {"api": {"fetch": {"headers": {"X-Auth-Token": "[redacted]", "Accept": "text/json"}}}},
        "layers": [{"use": "hmac", "secret": "[redacted]", "header": "X-Sign"}],
    }


def test_changes_of_secrets_are_told_without_them() -> None:
    headers = {"Authorization": "Bearer other", "Accept": "text/plain"}
    after = {
        **SPEC,
        "concurrency": 5,
        "layers": [{"use": "hmac", "secret": "Bearer other", "header": "X-Sign"}],
        "fetch": {"headers": headers},
        "entry_urls": ["http://b:secret@h.example/"],
    }
    without = {name: value for name, value in SPEC.items() if name != "fetch"}
    for old, new in ((SPEC, after), (after, SPEC), (SPEC, without), (without, SPEC)):
        found = diff_specs(json.dumps(old).encode(), json.dumps(new).encode())
        text = repr(mask_changes(found))
        assert not any(secret in text for secret in ("abcdef", "Bearer other", "word", "secret@", "sid=1")), (
            text
        )
        assert len(mask_changes(found)) == len(found)
    changes = mask_changes(diff_specs(json.dumps(SPEC).encode(), json.dumps(after).encode()))
    assert [(one.before, one.after) for one in changes if one.path == "concurrency"] == [(4, 5)]
    assert [(one.before, one.after) for one in changes if one.path.endswith(".Accept")] == [
        ("text/html", "text/plain")
    ]
