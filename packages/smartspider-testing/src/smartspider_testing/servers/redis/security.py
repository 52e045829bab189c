"""Authentication and encryption of a Redis: a password, TLS, or neither."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, field

from smartspider_testing.servers.certificates import Certificate, CertificateAuthority


@dataclass(frozen=True, slots=True)
class Encryption:
    """TLS with certificates of one authority; optionally clients must present one too."""

    authority: CertificateAuthority
    server: Certificate
    asks_clients: bool = False


@dataclass(frozen=True, slots=True)
class RedisSecurity:
    """The password of the default user, and TLS for clients and between servers."""

    password: str = field(default="", repr=False)
    encryption: Encryption | None = None

    def settings(self, port: int) -> dict[str, str]:
        """Return configuration lines, including the port."""
        lines = {"port": str(port)}
        if self.password:
            lines["requirepass"] = self.password
        if (tls := self.encryption) is not None:
            lines |= {
                "port": "0",
                "tls-port": str(port),
                "tls-cert-file": str(tls.server.file),
                "tls-key-file": str(tls.server.key),
                "tls-ca-cert-file": str(tls.authority.file),
                "tls-auth-clients": "yes" if tls.asks_clients else "no",
                "tls-replication": "yes",
            }
        return lines

    def connect(self, port: int, timeout_s: float) -> socket.socket:
        """Open an administrator's connection to a server with this configuration."""
        line = socket.create_connection(("127.0.0.1", port), timeout_s)
        if self.encryption is None:
            return line
        context = self.encryption.authority.trusting(self.encryption.server)
        try:
            return context.wrap_socket(line, server_hostname="127.0.0.1")
        except (OSError, ssl.SSLError):
            line.close()
            raise


OPEN = RedisSecurity()
