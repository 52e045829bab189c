"""The built-in layers of tasks: plug-ins that change requests and answers. `fetch/layers.py` calls them."""
