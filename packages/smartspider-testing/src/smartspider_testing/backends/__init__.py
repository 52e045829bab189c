"""The backends of SmartSpider as contract suites use them, on a manual clock."""
