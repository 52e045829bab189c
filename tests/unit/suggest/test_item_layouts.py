"""Items whose parts have no class names of their own: layout tables, blocks, galleries, words set off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from smartspider.suggest.html.lists.places import MARGIN, PlaceMap
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.suggestion import Suggestion

Best = Callable[..., Suggestion]

NAMES = ["Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gil", "Hope"]


def samples_of(suggestion: Suggestion) -> dict[str, Any]:
    """The value of each field in the second item."""
    return {field.name: field.samples[1] for field in suggestion.fields}


def test_words_set_off_in_a_link_belong_to_its_text(best: Best) -> None:
    body = "".join(
        f'<div class="hit"><h2><a href="/{name}">About {name} <b class="hl">Food</b> and more</a></h2>'
        f'<div class="snippet">Of {name}: on <b>food</b>, on <b>food</b>{" <b>food</b>" * (i % 3)}.</div>'
        "</div>"
        for i, name in enumerate(NAMES)
    )
    found = best(body)
    assert samples_of(found)["title"] == "About Bo Food and more"
    assert sorted(field.name for field in found.fields) == ["summary", "title", "url"]


def test_a_price_set_off_in_a_heading_is_a_value(best: Best) -> None:
    body = "".join(
        f'<div class="hit"><h2>About {name} <b class="cost">${i}.50</b></h2></div>'
        for i, name in enumerate(NAMES)
    )
    assert samples_of(best(body))["price"] == "$1.50"


def test_rows_of_a_layout_table_are_not_one_list_of_texts(best: Best) -> None:
    row = "<tr><td><font>{}</font></td></tr>"
    body = "".join(
        "<div class='offer'><table>"
        + "".join(
            row.format(text)
            for text in (f"<b>{name} shackle</b>", f"Model: {i}7", f"Our Price: ${i}.95", f"Made by {name}")
        )
        + "</table></div>"
        for i, name in enumerate(NAMES)
    )
    values = samples_of(best(body)).values()
    assert "Bo shackle" in values
    assert not any(isinstance(value, list) for value in values)


def test_an_element_in_changing_places_is_found_by_the_attribute_that_names_it(best: Best) -> None:
    labels = "<div class='x1'><p>Sale</p><p>New</p></div>"
    body = "".join(
        f"<article><div class='x1'><a href='/{i}'>{name} street</a><p>{i} rooms</p></div>"
        + labels * (i % 3)
        + f"<div class='x1'><div><span data-mark='MainPrice'><span>{i + 1} 000 €</span></span></div>"
        f"<div><i>{i}7 m²</i></div></div></article>"
        for i, name in enumerate(NAMES)
    )
    found = best(body)
    prices = [field for field in found.fields if "MainPrice" in str(field.rule)]
    assert [field.coverage for field in prices] == [1.0]


def test_one_image_of_a_gallery_is_kept(best: Best) -> None:
    body = "".join(
        f"<div class='flat'><ul><li><img src='/{i}/a.jpg'></li><li><img src='/{i}/b.jpg'></li></ul>"
        f"<h3><a href='/{i}'>{name} street</a></h3></div>"
        for i, name in enumerate(NAMES)
    )
    assert sorted(samples_of(best(body))) == ["image", "title", "url"]


def test_a_sibling_of_the_same_name_with_fewer_parts_is_an_item(best: Best) -> None:
    parts = "<p class='address'>{0}.example</p><p class='cached'>{0} {1}</p><p class='text'>Of {0} {1}.</p>"
    body = "".join(
        f"<div class='hit'><h2><a href='/{name}'>{name}</a></h2>"
        + (parts.format(name, i) if i != 3 else "")
        + "</div>"
        for i, name in enumerate(NAMES)
    )
    assert best(body).count == len(NAMES)


def test_what_contains_the_main_content_is_no_menu(best: Best) -> None:
    items = "".join(
        f"<a href='/item/{i}'><h3>{name} bike</h3><p>{i} km</p></a>" for i, name in enumerate(NAMES)
    )
    menu = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in NAMES)
    page = f"<ul>{menu}</ul><div class='menu-container'><main><div>{items}</div></main></div>"
    assert samples_of(best(page))["title"] == "Bo bike"


def test_results_of_a_site_with_classified_ads_are_its_content() -> None:
    page = "<ul class='{}'><li>A flat</li></ul><p>Prices of flats in all towns, day by day.</p>"
    for name, weight in (("AdResults", 1.0), ("AdBox", MARGIN)):
        root = LexborHTMLParser(page.format(name)).root
        assert root is not None
        tree = Tree(root)
        assert PlaceMap(tree).weight([one for one in tree.elements if one.tag == "li"]) == weight
