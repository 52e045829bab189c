"""Keys of layers: always secrets, named as `${NAME}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from smartspider.core.requests.secrets import SECRET_NAME, SecretValues
from smartspider.layers.codec import decode
from smartspider.plugins.options import InvalidOption

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

KeyEncoding = Literal["text", "hex", "base64"]
"""The form of a key: its bytes as text, or encoded."""

_REFERENCE = re.compile(rf"\$\{{({SECRET_NAME})\}}")
_HINT = "store the key by `smartspider secret set NAME` and write ${NAME}"


class Key:
    """A key by the name of its secret. `value` None: the task is only checked."""

    def __init__(self, option: str, reference: str, secrets: SecretValues | None) -> None:
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise InvalidOption(option, "a key is a secret, which a task does not hold", _HINT)
        self._option = option
        self.name = found[1]
        self.value = None if secrets is None else secrets[self.name]

    def wrong(self, what: str, hint: str = "") -> InvalidOption:
        """Return the error of an unusable key, without its value."""
        return InvalidOption(self._option, f"the secret {self.name} {what}", hint)

    def raw(self, encoding: KeyEncoding) -> bytes:
        """Return the bytes of the key; empty while the task is only checked."""
        if self.value is None:
            return b""
        if encoding == "text":
            return self.value.encode()
        try:
            return decode(self.value.encode(), encoding)
        except ValueError:
            raise self.wrong(f"is not {encoding}", "set key_encoding to how the key is written") from None

    def aes(self, encoding: KeyEncoding) -> bytes:
        """Return an AES key; empty while the task is only checked."""
        key = self.raw(encoding)
        if self.value is not None and len(key) not in (16, 24, 32):
            what = f"has {len(key)} bytes, and an AES key has 16, 24 or 32"
            raise self.wrong(what, "set key_encoding to how the key is written")
        return key

    def rsa_private(self) -> RSAPrivateKey | None:
        """Return an RSA key in PEM; None while the task is only checked."""
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

        key = self._private()
        if key is not None and not isinstance(key, RSAPrivateKey):
            raise self.wrong("is no RSA key")
        return key

    def ed25519(self) -> Ed25519PrivateKey | None:
        """Return an Ed25519 key in PEM; None while the task is only checked."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = self._private()
        if key is not None and not isinstance(key, Ed25519PrivateKey):
            raise self.wrong("is no Ed25519 key")
        return key

    def rsa_public(self) -> RSAPublicKey | None:
        """Return the public RSA key in PEM, also of a certificate; None while the task is only checked."""
        if self.value is None:
            return None
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
        from cryptography.x509 import load_pem_x509_certificate

        pem = _pem(self.value)
        try:
            is_certificate = b"BEGIN CERTIFICATE" in pem
            key = load_pem_x509_certificate(pem).public_key() if is_certificate else load_pem_public_key(pem)
        except Exception:  # noqa: BLE001 - the library raises errors of many kinds
            raise self.wrong("is no public key in PEM", "it begins with -----BEGIN PUBLIC KEY-----") from None
        if not isinstance(key, RSAPublicKey):
            raise self.wrong("is no RSA key")
        return key

    def _private(self) -> object | None:
        if self.value is None:
            return None
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            return load_pem_private_key(_pem(self.value), None)
        except Exception:  # noqa: BLE001 - the library raises errors of many kinds
            hint = "it begins with -----BEGIN PRIVATE KEY----- and has no password"
            raise self.wrong("is no private key in PEM", hint) from None


def _pem(text: str) -> bytes:
    r"""Return a key in PEM; in an environment variable its line breaks may be written as `\n`."""
    return text.replace("\\n", "\n").strip().encode()
