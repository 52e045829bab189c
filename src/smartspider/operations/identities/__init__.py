"""Operations on identities and on the secrets they are made of."""
