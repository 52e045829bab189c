"""The ciphers of `encrypt` and `decrypt`, and where their initialization vector is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from smartspider.core.requests.secrets import SecretValues, fill_values, has_references
from smartspider.layers.codec import decode
from smartspider.layers.headers import check_header
from smartspider.layers.keys import Key, KeyEncoding
from smartspider.plugins.options import InvalidOption

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.padding import AsymmetricPadding

CipherName = Literal["aes-cbc", "aes-gcm", "rsa-oaep", "rsa-oaep-sha1", "rsa-pkcs1v15"]
"""CBC pads by PKCS #7; GCM ends with its tag of 16 bytes; OAEP is that of SHA-256."""

IV_BYTES = {"aes-cbc": 16, "aes-gcm": 12}
"""The length of a random initialization vector, of ciphers that have one."""

Crypt = Callable[[bytes, bytes], bytes]
"""Returns what becomes of a message, with an initialization vector; raises `ValueError`."""


def encryption(name: CipherName, key: Key, key_encoding: KeyEncoding) -> Crypt:
    """Return what encrypts messages."""
    if name not in IV_BYTES:
        public, pad = key.rsa_public(), _rsa_padding(name)
        return lambda plain, _iv: b"" if public is None else public.encrypt(plain, pad)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.padding import PKCS7

    raw = key.aes(key_encoding)
    if name == "aes-gcm":
        return lambda plain, iv: AESGCM(raw).encrypt(iv, plain, None)

    def encrypt(plain: bytes, iv: bytes) -> bytes:
        pad = PKCS7(128).padder()
        stream = Cipher(algorithms.AES(raw), modes.CBC(iv)).encryptor()
        return stream.update(pad.update(plain) + pad.finalize()) + stream.finalize()

    return encrypt


def decryption(name: CipherName, key: Key, key_encoding: KeyEncoding) -> Crypt:
    """Return what decrypts messages."""
    if name not in IV_BYTES:
        private, pad = key.rsa_private(), _rsa_padding(name)
        return lambda message, _iv: b"" if private is None else private.decrypt(message, pad)
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.padding import PKCS7

    raw = key.aes(key_encoding)

    def decrypt_gcm(message: bytes, iv: bytes) -> bytes:
        try:
            return AESGCM(raw).decrypt(iv, message, None)
        except InvalidTag:
            raise ValueError("its tag is wrong") from None

    def decrypt_cbc(message: bytes, iv: bytes) -> bytes:
        stream = Cipher(algorithms.AES(raw), modes.CBC(iv)).decryptor()
        pad = PKCS7(128).unpadder()
        return pad.update(stream.update(message) + stream.finalize()) + pad.finalize()

    return decrypt_gcm if name == "aes-gcm" else decrypt_cbc


class IvPlace:
    """Where the initialization vector is: an option of the task, a header, a field, or the start of the
    message.
    """

    def __init__(
        self,
        cipher: CipherName,
        key_encoding: KeyEncoding,
        secrets: SecretValues | None,
        *,
        iv: str,
        header: str,
        field: str,
    ) -> None:
        given = {"iv": iv, "iv_header": header, "iv_field": field}
        named = [option for option, text in given.items() if text]
        if named and cipher not in IV_BYTES:
            raise InvalidOption(named[0], f"{cipher} has no initialization vector", "remove it")
        if len(named) > 1:
            hint = "without any it is random and stands before the message"
            raise InvalidOption(named[1], f"{named[0]} says already where it is", hint)
        if header:
            check_header("iv_header", header)
        self.size = IV_BYTES.get(cipher, 0)
        self.header, self.field = header, field
        self.constant = self._constant(cipher, iv, key_encoding, secrets) if iv else None
        self.is_prefix = not named and self.size > 0

    def _constant(
        self, cipher: CipherName, value: str, encoding: KeyEncoding, secrets: SecretValues | None
    ) -> bytes:
        if secrets is None and has_references(value):
            return b""
        filled = fill_values(value, secrets or {})
        try:
            iv: bytes = filled.encode() if encoding == "text" else decode(filled.encode(), encoding)
        except ValueError:
            hint = "it is written as the key is: key_encoding"
            raise InvalidOption("iv", f"it is not {encoding}", hint) from None
        if (cipher == "aes-cbc" and len(iv) != self.size) or not 8 <= len(iv) <= 128:
            hint = "it is written as the key is: key_encoding"
            raise InvalidOption("iv", f"it has {len(iv)} bytes, and {cipher} needs {self.size}", hint)
        return iv

    def split(self, message: bytes) -> tuple[bytes, bytes]:
        """Return initialization vector and rest of a message that begins with it."""
        return message[: self.size], message[self.size :]


def _rsa_padding(name: CipherName) -> AsymmetricPadding:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    if name == "rsa-pkcs1v15":
        return padding.PKCS1v15()
    is_old = name == "rsa-oaep-sha1"
    hashed = hashes.SHA1() if is_old else hashes.SHA256()  # noqa: S303 - the default of OAEP in most libraries
    return padding.OAEP(padding.MGF1(hashed), hashed, None)
