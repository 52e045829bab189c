"""One Protocol per file. The promises are numbered; the contract suites test each number."""
