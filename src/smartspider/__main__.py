"""`python -m smartspider`."""

import sys

from smartspider.cli.main import main

sys.exit(main())
