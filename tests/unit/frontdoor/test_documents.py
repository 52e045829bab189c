"""Documents that point at files point at files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs" / "glossary.md"
KIT = ROOT / "packages" / "smartspider-testing" / "src"
CONTRACTS = KIT / "smartspider_testing" / "contracts"
PLACES = (ROOT, ROOT / "docs", ROOT / "src" / "smartspider", KIT, CONTRACTS)
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))
DOCUMENTS = [GLOSSARY, *DECISIONS, *sorted(ROOT.glob("*.md"))]


def test_every_word_lives_where_the_glossary_says() -> None:
    places = re.findall(r"\| `([^`]+)` \|$", GLOSSARY.read_text(), re.MULTILINE)
    assert len(places) > 20
    assert [place for place in places if not (ROOT / "src" / "smartspider" / place).exists()] == []


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w./-]+(?:\.py|\.sql|\.lua|\.md|/))`", text))
    named |= set(re.findall(r"`((?:\w+/)+\w+)`", text))
    assert len(named) > 40
    assert sorted(name for name in named if not any((place / name).exists() for place in PLACES)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!\w+:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_picture_in_a_document_exists_and_is_shown() -> None:
    shown = {
        (page.parent / name).resolve()
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text())
    }
    assert shown == {path.resolve() for path in (ROOT / "docs" / "images").iterdir()}


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_its_four_parts_in_order(decision: Path) -> None:
    parts = re.findall(
        r"^\*\*(Context|Decision|Consequences|Options? not taken)\.\*\*", decision.read_text(), re.MULTILINE
    )
    assert [part.replace("Options", "Option") for part in parts] == [
        "Context",
        "Decision",
        "Consequences",
        "Option not taken",
    ]


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(decision.name[:4]) for decision in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))
    for number, decision in zip(numbers, DECISIONS, strict=True):
        assert decision.read_text().startswith(f"# {number}. ")
