"""From a request to a page: the transport and the layers around it. Read `stack.py` first."""
