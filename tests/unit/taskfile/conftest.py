"""Tasks that the tests of the task file share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def small() -> dict[str, Any]:
    """The least a task can be."""
    return {"name": "small", "entry_urls": ["https://example.com/"]}


@pytest.fixture
def full() -> dict[str, Any]:
    """A task that uses every section of the task file."""
    return {
        "name": "full",
        "entry_urls": [
            "https://shop.example.com/list?q=a",
            {
                "url": "https://api.example.com/search",
                "method": "POST",
                "headers": {"X-Key": "k"},
                "body": {"q": "a"},
                "priority": 5,
                "page": "detail",
                "meta": {"kind": "search"},
            },
        ],
        "selectors": {
            "items": [".card", {"type": "xpath", "expr": "//li"}],
            "fields": {
                "title": "h2",
                "price": [{"expr": ".now", "steps": ["number"]}, ".old"],
                "maker": {"name": ".by", "country": {"type": "const", "expr": None}},
            },
        },
        "follow": [{"selector": "a.t", "to": "detail", "allow": ["/p/"], "deny": ["x"], "max_depth": 2}],
        "pagination": {"type": "cursor", "expr": "next", "param": "c", "in": "body"},
        "pages": {
            "detail": {
                "selectors": {"fields": {"text": {"type": "regex", "expr": "a(b)"}}},
                "fetch": {
                    "mode": "browser",
                    "method": "POST",
                    "headers": {"Accept": "application/json"},
                    "timeout_s": 30,
                    "max_bytes": 20_000_000,
                    "user_agents": ["me"],
                    "proxy_pool": "p",
                    "wait_for": ".done",
                    "actions": [{"click": ".more"}],
                },
            }
        },
        "scope": {
            "domains": ["example.com"],
            "allow": ["/"],
            "deny": ["/no"],
            "max_depth": 3,
            "same_host": True,
        },
        "sitemaps": ["https://example.com/sitemap.xml"],
        "fetch": {
            "mode": "browser",
            "method": "GET",
            "headers": {"Accept-Language": "en"},
            "timeout_s": 10,
            "max_bytes": 1000,
            "user_agents": ["me"],
            "proxy_pool": "p",
            "wait_for": ".done",
            "actions": [{"click": ".more"}],
        },
        "politeness": {"robots": "ignore", "delay_s": 0, "rate_per_s": 2, "per_host": 2, "per_domain": 3},
        "traps": {
            "max_url_length": 100,
            "max_path_segments": 9,
            "max_repeats": 2,
            "max_urls_per_host": 50,
            "max_links_per_page": 10,
        },
        "limits": {"max_pages": 1, "max_items": 2, "max_depth": 0, "max_duration_s": 1.5, "max_errors": 3},
        "retry": {"max_attempts": 1, "backoff_s": 0, "max_backoff_s": 1, "on_status": [500]},
        "dedup": {"urls": "bloom", "window": "7d", "items": ["title"], "scope": "task", "keep": "last"},
        "pipeline": ["trim", {"use": "number", "fields": ["price"], "locale": "de", "enabled": False}],
        "sinks": [{"use": "webhook", "url": "https://example.com/hook"}],
        "alerts": {
            "consecutive_failures": 3,
            "failure_rate": 0.5,
            "empty_fields": ["title"],
            "action": "notify",
        },
        "archive": {"warc": True},
        "concurrency": 4,
        "priority": 2,
        "use_cookie": False,
        "cookie_id": "c1",
        "account_pool": "a",
        "schedule": {"cron": "0 6 * * 1-5", "timezone": "Europe/Berlin", "misfire": "skip", "overlap": True},
    }
