"""The style sheet of the shop, and a drawing for every product."""

from __future__ import annotations

from smartspider.demo.catalogue import Product
from smartspider.demo.words import CATEGORIES

HUES = {category.slug: category.hue for category in CATEGORIES}

STYLE = """
:root { --ink:#22262e; --soft:#5d6675; --line:#e6e3dc; --ground:#faf8f4; --card:#fff; --hue:28;
  --accent:hsl(var(--hue) 62% 36%); --tint:hsl(var(--hue) 60% 94%); }
* { box-sizing:border-box; }
body { margin:0; background:var(--ground); color:var(--ink); line-height:1.55;
  font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC",sans-serif; }
a { color:var(--accent); text-decoration:none; } a:hover { text-decoration:underline; }
.wrap { max-width:68rem; margin:0 auto; padding:0 1.25rem; }
header { background:var(--card); border-bottom:1px solid var(--line); }
header .wrap { display:flex; flex-wrap:wrap; gap:.5rem 1.5rem; align-items:center; padding-block:1rem; }
.logo { font-size:1.25rem; font-weight:700; color:var(--ink); letter-spacing:-.01em; margin-right:auto; }
.logo span { color:var(--accent); }
.site-nav a { margin-left:1.1rem; color:var(--soft); }
.categories { background:var(--card); border-bottom:1px solid var(--line); }
.categories ul { display:flex; flex-wrap:wrap; gap:.4rem; list-style:none; margin:0; padding:.6rem 0; }
.categories a { display:block; padding:.25rem .8rem; border-radius:2rem; color:var(--soft); }
.categories a:hover, .categories a[aria-current] { background:var(--tint); color:var(--accent);
  text-decoration:none; }
main.wrap { padding-block:1.75rem 3rem; }
h1 { font-size:1.9rem; line-height:1.2; letter-spacing:-.02em; margin:.2rem 0 .6rem; }
h2 { font-size:1.2rem; margin:2.2rem 0 .8rem; }
.lead { color:var(--soft); font-size:1.08rem; max-width:44rem; margin-top:0; }
.hero { background:linear-gradient(120deg,hsl(28 70% 92%),hsl(330 55% 94%)); border-radius:1.2rem;
  padding:2.4rem; margin-bottom:1.5rem; }
.hero form { display:flex; gap:.5rem; max-width:26rem; }
input, button { font:inherit; padding:.55rem .9rem; border-radius:.6rem; border:1px solid var(--line); }
input { flex:1; min-width:0; } button { background:var(--accent); color:#fff; border:0; }
.grid { display:grid; grid-template-columns:repeat(auto-fill,minmax(13.5rem,1fr)); gap:1.1rem;
  list-style:none; margin:0; padding:0; }
.card { background:var(--card); border:1px solid var(--line); border-radius:.9rem; overflow:hidden;
  display:flex; flex-direction:column; transition:box-shadow .15s,transform .15s; }
.card:hover { box-shadow:0 8px 24px #0001; transform:translateY(-2px); }
.card img { width:100%; height:auto; display:block; }
.card .text { padding:.8rem 1rem 1rem; }
.card a.title { font-weight:600; color:var(--ink); }
.card .by { color:var(--soft); font-size:.9rem; margin:.1rem 0 .5rem; }
.amount { font-weight:700; } .rating { color:#b7791f; white-space:nowrap; }
.row { display:flex; justify-content:space-between; gap:.5rem; }
.facets { display:flex; flex-wrap:wrap; gap:.5rem; margin:.4rem 0 1.4rem; }
.facets a, .tags li { background:var(--tint); border-radius:2rem; padding:.15rem .8rem; font-size:.92rem; }
.pager { display:flex; justify-content:space-between; align-items:center; margin-top:1.8rem;
  color:var(--soft); }
.pager a { border:1px solid var(--line); background:var(--card); border-radius:.6rem; padding:.45rem 1rem; }
.breadcrumbs { color:var(--soft); font-size:.92rem; margin-bottom:1rem; }
.detail { display:grid; grid-template-columns:minmax(0,1fr) minmax(0,1.15fr); gap:2.2rem; }
.detail .photo { width:100%; height:auto; border-radius:1.1rem; }
.detail .amount { font-size:1.7rem; }
.reviews, .brand { color:var(--soft); }
.stock { font-weight:600; color:#2f7d4f; } .stock.gone { color:#a33; }
.tags { display:flex; flex-wrap:wrap; gap:.4rem; list-style:none; padding:0; }
.specs { width:100%; border-collapse:collapse; margin-top:1.2rem; }
.specs th, .specs td { text-align:left; padding:.5rem 0; border-bottom:1px solid var(--line); }
.specs th { color:var(--soft); font-weight:500; width:40%; }
.comparison, .reference { border-collapse:collapse; } caption { text-align:left; color:var(--soft); }
.comparison th, .comparison td, .reference th, .reference td { text-align:left;
  padding:.5rem 1.5rem .5rem 0; border-bottom:1px solid var(--line); }
.example { background:var(--card); border:1px solid var(--line); border-radius:.6rem; padding:1rem;
  overflow:auto; }
dt { font-weight:600; } dd { margin:0 0 .8rem 1.5rem; } dd p { margin:0; }
footer { border-top:1px solid var(--line); color:var(--soft); font-size:.92rem; }
footer .wrap { display:flex; flex-wrap:wrap; gap:.4rem 1.4rem; padding-block:1.4rem; }
footer a { color:var(--soft); }
@media (max-width:44rem) { .detail { grid-template-columns:1fr; } .hero { padding:1.5rem; } }
"""


def drawing(product: Product) -> str:
    """Return an SVG drawing of a product in the colours of its category."""
    hue, turn = HUES[product.category], product.number * 37 % 360
    size = 70 + product.number * 13 % 50
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300" role="img">'
        f'<rect width="400" height="300" fill="hsl({hue} 48% 90%)"/>'
        f'<circle cx="{90 + turn * 220 // 360}" cy="96" r="{size + 20}" fill="hsl({hue + 24} 52% 82%)"/>'
        f'<path d="M0 230 Q{100 + turn // 2} {170 + size // 3} 400 226 V300 H0Z" fill="hsl({hue} 40% 76%)"/>'
        f'<g transform="rotate({turn % 24 - 12} 200 170)">'
        f'<rect x="{200 - size // 2}" y="{236 - size - 40}" width="{size}" height="{size + 40}" '
        f'rx="{8 + turn % 30}" fill="hsl({hue} 52% 44%)"/>'
        f'<rect x="{200 - size // 2 + 12}" y="{236 - size - 24}" width="{size // 4}" height="{size}" '
        f'rx="6" fill="hsl({hue} 60% 60%)"/></g></svg>'
    )
