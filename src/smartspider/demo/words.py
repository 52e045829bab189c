"""The words of the catalogue."""

from __future__ import annotations

from typing import NamedTuple


class Category(NamedTuple):
    """A category, and the words that name and describe its products."""

    slug: str
    title: str
    hue: int
    """The colour of the category on the page, in degrees."""
    blurb: str
    looks: tuple[str, ...]
    things: tuple[str, ...]
    materials: tuple[str, ...]
    uses: tuple[str, ...]


CATEGORIES = (
    Category(
        "tea",
        "Tea & Coffee",
        28,
        "Leaves, beans and everything that makes hot water better.",
        ("Morning", "Smoky", "Highland", "Golden", "Jasmine", "Midnight"),
        ("Oolong", "Breakfast Tea", "Filter Coffee", "Espresso Blend", "Tea Caddy"),
        ("whole leaf", "single-origin beans", "tinplate", "small-batch roast"),
        ("slow mornings", "long conversations", "the second cup of the day"),
    ),
    Category(
        "books",
        "Books & Paper",
        210,
        "Things to read, and things to write in afterwards.",
        ("Pocket", "Illustrated", "Annotated", "Travelling", "Seaside", "Winter"),
        ("Atlas", "Cookbook", "Notebook", "Almanac", "Field Guide"),
        ("recycled paper", "linen cover", "thread-sewn paper", "cotton paper"),
        ("train journeys", "rainy weekends", "the bedside table"),
    ),
    Category(
        "light",
        "Lamps & Light",
        48,
        "Warm corners, bright desks and candles for the rest.",
        ("Amber", "Folding", "Harbour", "Paper", "Northern", "Copper"),
        ("Desk Lamp", "Lantern", "Candle", "Night Light", "Pendant"),
        ("brushed steel", "blown glass", "rice paper", "beeswax"),
        ("reading corners", "dark evenings", "a quiet hallway"),
    ),
    Category(
        "kitchen",
        "Kitchen",
        4,
        "Tools that get better the more often they are used.",
        ("Cast-Iron", "Enamel", "Everyday", "Walnut", "Stoneware", "Little"),
        ("Kettle", "Skillet", "Mixing Bowl", "Chopping Board", "Pepper Mill"),
        ("cast iron", "enamelled steel", "oiled walnut", "glazed stoneware"),
        ("Sunday cooking", "busy kitchens", "soups that take all day"),
    ),
    Category(
        "garden",
        "Garden",
        128,
        "For balconies, borders and one very ambitious window sill.",
        ("Cottage", "Climbing", "Terrace", "Wild", "Glasshouse", "Evergreen"),
        ("Seed Box", "Watering Can", "Trowel", "Planter", "Bird Feeder"),
        ("galvanised steel", "terracotta", "ash wood", "woven willow"),
        ("small balconies", "patient gardeners", "the first warm days"),
    ),
    Category(
        "desk",
        "Desk & Studio",
        262,
        "Pens, clips and order for people who make things.",
        ("Brass", "Drafting", "Weekly", "Indigo", "Featherlight", "Studio"),
        ("Fountain Pen", "Ruler", "Pencil Case", "Planner", "Tape Dispenser"),
        ("solid brass", "waxed canvas", "anodised aluminium", "beech wood"),
        ("clear thinking", "first drafts", "tidy desks"),
    ),
    Category(
        "sound",
        "Sound",
        316,
        "Records, radios and small instruments that stay in tune.",
        ("Analogue", "Parlour", "Velvet", "Portable", "Sunday", "Resonant"),
        ("Radio", "Turntable", "Kalimba", "Speaker", "Metronome"),
        ("lacquered maple", "aluminium and felt", "bamboo", "walnut veneer"),
        ("kitchen dancing", "late listening", "beginners with patience"),
    ),
    Category(
        "outdoors",
        "Outdoors",
        168,
        "Light things for long walks, and dry socks for the way back.",
        ("Trail", "Alpine", "Coastal", "Woodland", "Summit", "Drizzle"),
        ("Backpack", "Flask", "Blanket", "Camp Stove", "Headlamp"),
        ("ripstop nylon", "merino wool", "stainless steel", "waxed cotton"),
        ("weather that changes its mind", "long walks", "cold hands"),
    ),
)

BRANDS = (
    "Alder & Finch",
    "Bright Harbour",
    "Copperline",
    "Dovetail Works",
    "Emberhouse",
    "Fieldnote",
    "Greywater",
    "Hollow Oak",
    "Ink & Anvil",
    "Juniper Lane",
    "Kiln Street",
    "Lowlight",
)

COLOURS = ("sand", "moss", "ink", "clay", "chalk", "rust", "sky", "plum")

ORIGINS = ("Portugal", "Japan", "Denmark", "Italy", "Scotland", "Vietnam", "Germany", "Mexico")

PRAISE = (
    "It does one thing and does it well.",
    "Most people who buy one come back for a second.",
    "It will look better in ten years than it does today.",
    "It arrives in a plain box without any plastic.",
    "We have used ours every day since the spring.",
)

SENSES = (
    "feels heavier than it looks",
    "is repaired rather than replaced",
    "is finished by hand",
    "is tested twice before it leaves the workshop",
)
