"""The REST API: thin routes over the services. `app.create_app` puts it together."""
