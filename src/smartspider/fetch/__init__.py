"""From a request to a page: one transport, and the layers around it."""
