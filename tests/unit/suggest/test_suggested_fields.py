"""What the columns of a list are, what they are called, and how they are selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smartspider.suggest.suggest import find_suggestions
from smartspider.suggest.suggestion import Suggestion, task_name, to_task

Best = Callable[..., Suggestion]

NAMES = ["Ada", "Bo", "Cleo", "Dan", "Eva", "Finn"]


def cards(card: str, count: int = 6, around: str = "<main>{}</main>") -> str:
    return around.format("".join(card.format(i=i, name=NAMES[i % len(NAMES)]) for i in range(count)))


def fields_of(suggestion: Suggestion) -> dict[str, Any]:
    return {field.name: field for field in suggestion.fields}


def test_what_is_the_same_in_every_item_is_no_field(best: Best) -> None:
    found = best(cards('<div class="card"><h2>{name} {i}</h2><p>Add to cart</p><em>New</em></div>'))
    assert list(fields_of(found)) == ["title"]


def test_a_status_that_is_the_same_in_every_item_is_a_field(best: Best) -> None:
    card = (
        '<div class="card"><h2>{name} {i}</h2><p class="stock-label">Stock:</p>'
        '<p class="stock">In stock</p><p class="date">7/12</p><em class="badge">New</em></div>'
    )
    assert list(fields_of(best(cards(card)))) == ["title", "stock", "date"]


def test_a_number_of_a_table_may_be_the_same_in_every_row(best: Best) -> None:
    head = "<table><thead><tr><th>Club</th><th>Played</th></tr></thead><tbody>{}</tbody></table>"
    found = best(cards("<tr><td>{name} {i}</td><td>34</td></tr>", around=head))
    assert found.kind == "table"
    assert list(fields_of(found)) == ["club", "played"]


def test_two_links_to_the_same_place_are_one_field(best: Best) -> None:
    card = (
        '<div class="card"><a href="/p/{i}"><img src="/i/{i}.png"></a>'
        '<h2><a href="/p/{i}#top">{name} {i}</a></h2></div>'
    )
    found = fields_of(best(cards(card)))
    assert list(found) == ["title", "url", "image"]
    assert found["url"].rule == {"type": "css", "expr": "h2 a::attr(href)", "steps": ["url"]}


def test_a_number_is_kept_instead_of_its_stars(best: Best) -> None:
    card = '<li class="card"><h3>{name} {i}</h3><span class="rating" data-value="{i}.5">★ {i}.5</span></li>'
    found = fields_of(best(cards(card)))
    assert found["rating"].samples[1] == 1.5
    assert len(found) == 2


def test_links_that_are_called_the_same_are_left_out_when_there_are_others(best: Best) -> None:
    card = '<li class="post"><a href="/t/{i}">{name} says {i}</a> <a href="/reply/{i}">reply</a></li>'
    assert [field.samples[0] for field in best(cards(card)).fields] == [
        "Ada says 0",
        "https://site.example/t/0",
    ]


def test_a_missing_value_does_not_shift_the_others(best: Best, rows: Any, page_of: Any) -> None:
    body = "".join(
        f"<div class='shop'><h3>Shop {i}</h3>"
        + (f"<span class='tel'>+44 20 7946 00{i}0</span>" if i % 2 else "")
        + f"<span class='town'>Ville {i}</span></div>"
        for i in range(8)
    )
    found = best(body)
    items = rows(found, page_of(body))
    assert [item["town"] for item in items] == [f"Ville {i}" for i in range(8)]
    assert [item["phone"] is None for item in items] == [True, False] * 4
    assert fields_of(found)["phone"].coverage == 0.5


def test_values_are_found_by_their_labels(best: Best, rows: Any, page_of: Any) -> None:
    body = "".join(
        f"<div class='flat'><h3>Flat {i}</h3><ul>"
        + (f"<li><b>Rooms:</b> <i>{i}</i></li>" if i % 3 else "")
        + f"<li><b>Size:</b> <i>{i * 10} m2</i></li></ul></div>"
        for i in range(9)
    )
    found = best(body)
    items = rows(found, page_of(body))
    assert [item["size"] for item in items] == [f"{i * 10} m2" for i in range(9)]
    assert items[0]["rooms"] is None
    assert items[1]["rooms"] == "1"


def test_names_that_come_again_are_not_taken_for_labels(best: Best) -> None:
    body = "".join(
        f"<div class='lamp'><span class='maker-name'>{'Osk Bre Tid Mor Fel'.split()[i % 5]}</span>"
        f"<span>Lamp {i}</span></div>"
        for i in range(20)
    )
    found = fields_of(best(body))
    assert [field.coverage for field in found.values()] == [1.0, 1.0]


def test_a_step_that_would_lose_values_is_left_out(best: Best) -> None:
    card = "<li class='job'><h3>{name} {i}</h3><b class='salary'>€{i}1,000 - €{i}9,000</b></li>"
    assert fields_of(best(cards(card)))["salary"].rule == "b.salary"


def test_a_label_in_the_text_becomes_the_name_and_is_cut_off(best: Best, rows: Any, page_of: Any) -> None:
    body = cards("<div class='row'><p>City: Town {i}</p><p>Owner: {name} {i}</p></div>")
    items = rows(best(body), page_of(body))
    assert items[2] == {"city": "Town 2", "owner": "Cleo 2"}


def test_words_that_texts_only_happen_to_begin_with_stay(best: Best, rows: Any, page_of: Any) -> None:
    body = cards("<div class='book'><h3>The tale of {name} {i}</h3><p class='by'>by {name}</p></div>")
    items = rows(best(body), page_of(body))
    assert items[1]["title"] == "The tale of Bo 1"
    assert items[1]["by"] == "Bo"


def test_chinese_labels_have_english_names_where_they_are_common(best: Best) -> None:
    body = cards("<dl class='r'><dt>价格</dt><dd>{i}.50元</dd><dt>产地</dt><dd>城市{i}</dd></dl>")
    assert list(fields_of(best(body))) == ["price", "产地"]


def test_a_price_becomes_a_number_with_its_currency(best: Best) -> None:
    task = to_task(
        best(cards("<li class='p'><h3>{name} {i}</h3><b class='price'>€{i}9.90</b></li>")), "http://h/"
    )
    assert task["pipeline"] == [{"use": "number", "fields": ["price"], "currency": "currency"}]


def test_a_price_that_is_sometimes_a_word_is_left_as_it_is(best: Best) -> None:
    body = "".join(
        f"<li class='p'><h3>T {i}</h3><b class='price'>{'Free' if i % 2 else '€5'}</b></li>" for i in range(8)
    )
    found = best(body)
    assert fields_of(found)["price"].samples[:2] == ("€5", "Free")
    assert found.pipeline == ()


def test_dates_and_links_get_their_steps(best: Best) -> None:
    card = (
        '<li class="n"><a href="/n/{i}">{name} reports {i}</a>'
        ' <time datetime="2026-03-1{i}">day {i}</time></li>'
    )
    found = fields_of(best(cards(card)))
    assert found["date"].rule["steps"] == ["date"]
    assert found["date"].samples[0] == "2026-03-10"
    assert found["url"].samples[0] == "https://site.example/n/0"


def test_the_picture_that_is_loaded_late_is_taken(best: Best) -> None:
    card = '<li class="c"><img src="/blank.gif" data-src="/pic/{i}.jpg"><h3>{name} {i}</h3></li>'
    assert fields_of(best(cards(card)))["image"].rule["expr"] == "img::attr(data-src)"


def test_a_list_inside_an_item_is_one_field(best: Best) -> None:
    body = "".join(
        f"<div class='q'><p class='said'>Saying {i}</p>"
        + "".join(f"<a class=tag href=/t/{tag}>{tag}</a>" for tag in "abc"[: i % 3 + 1])
        + "</div>"
        for i in range(9)
    )
    tag = fields_of(best(body))["tag"]
    assert tag.rule["many"] is True
    assert tag.samples[2] == ["a", "b", "c"]


def test_names_that_a_build_made_are_not_used(best: Best) -> None:
    card = (
        '<div class="css-1x2y3z"><h3 class="sc-bdVaJa">{name} {i}</h3>'
        '<p class="Card_town__a1B2c">Town {i}</p></div>'
    )
    found = best(cards(card, around="<main><p>x</p>{}</main>"))
    rules = str([found.items, *(field.rule for field in found.fields)])
    assert "css-1" not in rules
    assert "sc-b" not in rules
    assert "a1B2c" not in rules


def test_what_microdata_calls_a_value_is_its_selector_and_name(best: Best) -> None:
    card = (
        '<li itemscope><b itemprop="name">{name} {i}</b>'
        '<i itemprop="location" itemscope><u itemprop="name">Hall {i}</u></i></li>'
    )
    found = fields_of(best(cards(card, around="<ul>{}</ul>")))
    assert found["location"].rule == '[itemprop="location"] [itemprop="name"]'
    assert found["name"].rule == '[itemprop="name"]'


def test_advertisements_between_the_items_are_no_items(best: Best) -> None:
    ad = '<div class="slot"><span>Sponsored</span><a href="https://ads.example/x">Knives</a></div>'
    body = "".join(
        f"<div class='slot'><h3><a href='/p/{i}'>Pie {i}</a></h3><p>{i} min</p></div>"
        + (ad if i % 4 == 3 else "")
        for i in range(12)
    )
    found = best(f"<main>{body}</main>")
    assert found.count == 12
    assert ":has(" in found.items


def test_menus_and_footers_come_after_the_list(page_of: Any) -> None:
    links = "".join(f"<li><a href='/m/{i}'>Menu entry number {i}</a></li>" for i in range(30))
    body = f"<nav><ul>{links}</ul></nav>" + cards("<li class='card'><a href='/{i}'>{name} {i}</a></li>", 5)
    body += f"<div id='footer'><ul>{links}</ul></div>"
    assert find_suggestions(page_of(body)).suggestions[0].items == "li.card"


def test_answers_to_comments_are_items_of_the_same_list(best: Best, rows: Any, page_of: Any) -> None:
    inner = "".join(
        f"<li class='comment'><b class='who'>inner {i}</b><p>Inside {i}</p></li>" for i in range(3)
    )
    body = "<ul>" + "".join(
        f"<li class='comment'><b class='who'>outer {i}</b><p>Outside {i}</p>"
        f"<ul>{inner.replace('inner', f'in {i}')}</ul></li>"
        for i in range(4)
    )
    found = best(body)
    items = rows(found, page_of(body))
    assert len(items) == 16
    assert [item["who"] for item in items[:3]] == ["outer 0", "in 0 0", "in 0 1"]
    assert len(found.fields) == 2


def test_a_task_is_named_after_its_site() -> None:
    assert task_name("http://127.0.0.1:8000/") == "127_0_0_1_8000"
    assert task_name("https://www.example.org/lists/rivers.html") == "example_org_lists_rivers_html"
    assert task_name("https://shop.example/de/lamps?page=2").startswith("shop_example_de_lamps_page_2_")


def test_different_pages_make_different_tasks() -> None:
    urls = [
        *(
            f"http://h.example{port}{path}{query}"
            for port in ("", ":81")
            for path in ("", "/a", "/a/b")
            for query in ("", "?q=1", "?q=2", "?q-1")
        ),
        *("http://h.example/A", "http://h.example/a_b", "http://h.example/a.b", "http://h.example/%C3%A9"),
        *(f"http://h.example/{'x' * 100}{number}" for number in range(2)),
    ]
    names = {task_name(url) for url in urls}
    assert len(names) == len(urls)
    assert max(map(len, names)) <= 60


def test_images_that_take_turns_are_one_field(best: Best) -> None:
    linked = '<article class="card"><a href="/p/{i}"><img src="/i/{i}.png"></a><h3>{name} {i}</h3></article>'
    plain = '<article class="card"><img src="/i/x{i}.png"><h3>{name} x{i}</h3></article>'
    found = fields_of(best(cards(linked + plain)))
    assert found["image"].coverage == 1
    assert [one["expr"] for one in found["image"].rule] == ["> img::attr(src)", "a img::attr(src)"]


def test_the_price_before_a_reduction_is_not_the_price(best: Best) -> None:
    normal = '<li class="c"><h3>{name} {i}</h3><div class="cost"><span>{i}9,00 €</span></div></li>'
    reduced = (
        '<li class="c"><h3>{name} b{i}</h3><div class="cost"><p><del>{i}8,00 €</del></p>'
        "<p><span>{i}7,00 €</span></p></div></li>"
    )
    found = fields_of(best(cards(normal + reduced)))
    assert found["price"].samples[:2] == ("09,00 €", "07,00 €")


def test_an_image_without_its_lazy_attribute_has_its_source(best: Best) -> None:
    lazy = '<li class="c"><img src="data:x" data-original="/i/{i}.png"><h3>{name} {i}</h3></li>'
    body = cards(lazy).replace('<img src="data:x" data-original="/i/0.png">', '<img src="/i/0.png">')
    found = fields_of(best(body))
    assert found["image"].samples[:2] == ("https://site.example/i/0.png", "https://site.example/i/1.png")


def test_links_and_images_are_found_outside_of_their_elements(best: Best) -> None:
    card = (
        '<div class="card"><div class="pic" style="background-image: url(/i/{i}.jpg)"></div>'
        '<span class="go" href="/p/{i}">{name} {i}</span></div>'
    )
    found = fields_of(best(cards(card)))
    assert found["image"].samples[1] == "https://site.example/i/1.jpg"
    assert found["url"].samples[1] == "https://site.example/p/1"


def test_a_price_that_all_items_share_is_a_field(best: Best) -> None:
    found = fields_of(best(cards('<div class="card"><h2>{name} {i}</h2><ins>£34.95</ins></div>')))
    assert found["price"].samples[0] == "£34.95"


def test_a_label_before_its_value_in_bold_selects_the_value(best: Best) -> None:
    card = (
        '<div class="hit"><h3>{name} {i}</h3><ul><li>Town: <b>Madrid</b></li><li>Judge: <b>J{i}</b></li>'
        "</ul></div>"
    )
    found = fields_of(best(cards(card)))
    assert (found["town"].samples[0], found["judge"].samples[1]) == ("Madrid", "J1")


def test_lines_of_one_text_stay_together(best: Best) -> None:
    card = '<div class="card"><h2>{name} {i}</h2><b class="venue">Hall {i}<br>London</b></div>'
    found = fields_of(best(cards(card)))
    assert found["venue"].rule == "b.venue"


def test_authors_with_commas_between_them_are_one_text(best: Best) -> None:
    one = '<li class="c"><h3>{name} {i}</h3><p class="by"><a href="/a">Ann {i}</a></p></li>'
    two = one.replace("Ann {i}</a>", 'Al {i}</a>, <a href="/b">Bo</a>')
    assert "Al 0, Bo" in {value for field in best(cards(one + two)).fields for value in field.samples}


def test_links_to_files_with_the_same_text_are_fields(best: Best) -> None:
    card = (
        '<li class="c"><h3><a href="/m/{i}">{name} {i}</a></h3><a class="f" href="/a/{i}.pdf">Agenda</a></li>'
    )
    samples = {field.samples[1] for field in best(cards(card)).fields}
    assert "https://site.example/a/1.pdf" in samples


def test_versions_are_no_numbers(best: Best) -> None:
    head = "<table><thead><tr><th>Option</th><th>Since</th></tr></thead><tbody>{}</tbody></table>"
    found = fields_of(best(cards("<tr><td>{name}_{i}</td><td>1.{i}</td></tr>", around=head)))
    assert found["since"].samples[1] == "1.1"


def test_an_image_that_is_in_no_field_lowers_the_score(best: Best) -> None:
    assert best(cards('<div class="card"><h2>{name} {i}</h2></div>')).score == 1
    assert best(cards('<div class="card"><img src="data:{i}"><h2>{name} {i}</h2></div>')).score == 0.9
