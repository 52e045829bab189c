"""The test kit of SmartSpider: contract suites, scripted sites, servers, simulation, fault injection."""
