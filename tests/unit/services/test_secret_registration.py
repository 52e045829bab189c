"""The secrets of a task, registered so that no log shows them."""

from __future__ import annotations

from typing import Any

from smartspider.core.redaction.redactor import Redactor
from smartspider.services.secrets import MAX_VALUES, register_secrets
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def registered(**task: Any) -> Redactor:
    redactor = Redactor()
    given = {"name": "t", "entry_urls": ["http://h.example/"], **task}
    register_secrets(redactor, compile_task(parse_task(given)), {"NAMED": "value-of-the-named-secret"})
    return redactor


def test_headers_of_the_task_its_entries_and_its_links_are_registered() -> None:
    redactor = registered(
        fetch={"headers": {"Ocp-Apim-Subscription-Key": "first-value", "Accept": "text/html"}},
        entry_urls=[{"url": "http://h.example/", "headers": {"X-Any": "second-value"}}],
        follow=[{"selector": "a", "request": {"headers": {"X-Other": "third-value", "X-Ref": "${NAMED}"}}}],
    )
    text = "first-value second-value third-value value-of-the-named-secret text/html ${NAMED}"
    assert redactor.text(text) == " ".join(["[redacted]"] * 4 + ["text/html", "${NAMED}"])


def test_parameters_of_entries_are_registered_with_their_names() -> None:
    redactor = registered(entry_urls=["http://h.example/?code=ab%2Fcd&q=tea&lang=en&sv=2024-word"])
    text = "GET http://h.example/next?sv=2024-word&q=tea&code=ab%2Fcd&lang=en of 2024-word"
    shown = "GET http://h.example/next?sv=[redacted]&q=tea&code=[redacted]&lang=en of 2024-word"
    assert redactor.text(text) == shown


def test_a_parameter_with_many_values_is_no_credential_unless_its_name_says_so() -> None:
    urls = [f"http://h.example/?gtin=value-{n}&token=value-{n}" for n in range(MAX_VALUES + 1)]
    redactor = registered(entry_urls=urls)
    assert redactor.text("http://h.example/?gtin=value-7&token=value-7").endswith(
        "?gtin=value-7&token=[redacted]"
    )


def test_values_of_bodies_are_registered() -> None:
    redactor = registered(
        entry_urls=[
            {"url": "http://h.example/1", "body": {"login": {"secret": "body-value-1"}, "page": "tea-time"}},
            {"url": "http://h.example/2", "body": "password=body-value-2&q=green"},
        ]
    )
    text = "body-value-1 tea-time body-value-2 green"
    assert redactor.text(text) == "[redacted] tea-time [redacted] green"
