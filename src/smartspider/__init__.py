"""SmartSpider: describe what you want from web sites in one task, get clean rows."""

__version__ = "0.1.0"
