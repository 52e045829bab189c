"""The routes, one file per noun. `ROUTERS` is the table that `app.create_app` reads."""
