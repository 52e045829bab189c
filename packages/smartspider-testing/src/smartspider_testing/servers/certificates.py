"""A private certificate authority for one test."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from smartspider_testing.servers import programs
from smartspider_testing.servers.errors import ServerFailed

HERE = "IP:127.0.0.1,DNS:localhost"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


@dataclass(frozen=True, slots=True)
class Certificate:
    """The PEM files of a certificate and its key."""

    file: Path
    key: Path


class CertificateAuthority:
    """Signs certificates. All files are in `folder`; each certificate takes some 20 ms."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._own = self._files(name)
        _openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", *_out(self._own))

    @property
    def file(self) -> Path:
        """The CA file for clients and servers that trust this authority."""
        return self._own.file

    def sign(self, name: str, hosts: str = HERE) -> Certificate:
        """Return a certificate for servers at these hosts, or for a client."""
        made = self._files(name)
        by = ("-CA", str(self._own.file), "-CAkey", str(self._own.key))
        alternative = ("-addext", f"subjectAltName={hosts}", "-addext", "basicConstraints=CA:FALSE")
        _openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", *alternative, *by, *_out(made))
        return made

    def trusting(self, certificate: Certificate) -> ssl.SSLContext:
        """Return the context of a client that trusts this authority and presents a certificate."""
        context = ssl.create_default_context(cafile=str(self.file))
        context.load_cert_chain(certificate.file, certificate.key)
        return context

    def _files(self, name: str) -> Certificate:
        return Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")


def _out(made: Certificate) -> tuple[str, ...]:
    return "-keyout", str(made.key), "-out", str(made.file)


def _openssl(*words: str) -> None:
    done = subprocess.run([programs.openssl(), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerFailed(f"openssl {words[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
