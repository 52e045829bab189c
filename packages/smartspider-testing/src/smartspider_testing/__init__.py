"""The test kit that ships with SmartSpider: a clock to turn by hand, sites to script, contract suites."""
