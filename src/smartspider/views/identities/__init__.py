"""Views of identities and of the secrets they are made of."""
