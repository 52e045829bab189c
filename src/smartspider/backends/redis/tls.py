"""TLS options of connections."""

from __future__ import annotations

import ssl
from typing import Any

from smartspider.backends.redis.address import SETTING, TLS_FILES, TlsOptions
from smartspider.core.errors import SettingInvalid


def tls_options(tls: TlsOptions, *, is_on: bool) -> dict[str, Any]:
    """Return the options for the client. Raise `SettingInvalid` for unusable files."""
    if not is_on:
        return {"ssl": False}
    _check(tls)
    return {
        "ssl": True,
        **{name: getattr(tls, field) or None for name, field in TLS_FILES.items()},
        "ssl_cert_reqs": "required" if tls.is_verified else "none",
        "ssl_check_hostname": tls.is_verified and tls.is_name_checked,
    }


def _check(tls: TlsOptions) -> None:
    """Load the files: the client would read them with every connection, and ask a terminal for a password."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    option = "ssl_ca_certs"
    try:
        if tls.ca_certs:
            context.load_verify_locations(cafile=tls.ca_certs)
        option = "ssl_certfile"
        if tls.certfile:
            context.load_cert_chain(tls.certfile, tls.keyfile or None, password=lambda: "")
    except OSError as error:
        beside = " or its ssl_keyfile" if option == "ssl_certfile" else ""
        why = "no key or certificate is in it that can be used without a password"
        if not isinstance(error, ssl.SSLError):
            why = error.strerror or type(error).__name__
        raise SettingInvalid(
            f"{SETTING}: the {option}{beside} file cannot be used: {why}",
            hint="specify the path of a PEM file",
        ) from None
