"""The REST API: thin routes over the services. `app.create_app` builds the app."""
