"""A store over TLS, with a password, and with several servers in its address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smartspider.backends.postgres.address import PostgresAddress
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.schema import prepare
from smartspider.core.errors import StoreUnavailable
from smartspider.engine.runtime import SystemClock
from smartspider_testing.servers import PostgresServer
from smartspider_testing.servers.certificates import CertificateAuthority

pytestmark = pytest.mark.servers

SECRET = "s3cret/@pw"
WRITTEN = "s3cret%2F%40pw"
LISTENS = {"listen_addresses": "127.0.0.1,127.0.0.2"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def server(
    authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory, postgres_template: Path
) -> Iterator[PostgresServer]:
    with PostgresServer(
        tmp_path_factory.mktemp("postgres"), template=postgres_template, options=LISTENS
    ) as made:
        made.use_tls(authority.sign("postgres"))
        made.ask_for_password(SECRET)
        made.create_database("store")
        yield made


def address(server: PostgresServer, hosts: str, password: str, query: str) -> str:
    return f"postgresql://smartspider:{password}@{hosts.format(port=server.port)}/store?{query}"


@pytest.mark.parametrize("hosts", ["localhost:{port}", "127.0.0.1:1,localhost:{port}"])
async def test_a_store_is_reached_over_tls_wherever_it_is_among_its_servers(
    server: PostgresServer, authority: CertificateAuthority, hosts: str
) -> None:
    query = f"sslmode=verify-full&sslrootcert={authority.file}&target_session_attrs=read-write"
    url = address(server, hosts, WRITTEN, query)
    prepare(url)
    database = PostgresDatabase(url, SystemClock())
    rows = await database.fetch("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    database.close()
    assert [tuple(row) for row in rows] == [(True,)]


def test_an_address_is_told_with_all_that_makes_it_safe_and_without_secrets() -> None:
    options = "sslmode=verify-full&sslrootcert=/a%20b/ca.pem&target_session_attrs=read-write"
    url = f"postgresql://ann:{WRITTEN}@h1:1,h2:2/store?{options}&sslpassword={WRITTEN}&sslkey=/k"
    told = PostgresAddress(url).url
    assert told.partition("?")[0] == "postgresql://h1:1,h2:2/store"
    assert set(told.partition("?")[2].split("&")) == {*options.split("&"), "sslkey=/k"}
    assert PostgresAddress("postgresql://ann:x@h/store").url == "postgresql://h:5432/store"


REFUSED = {
    "wrong password": ("127.0.0.1:{port}", "wr0ng", "sslrootcert={ca}", "check user and password"),
    "unknown authority": ("127.0.0.1:{port}", WRITTEN, "sslrootcert={other}", "sslrootcert="),
    "no authority": ("127.0.0.1:{port}", WRITTEN, "sslrootcert=/nowhere/ca.pem", "does not exist"),
    "another host": ("127.0.0.2:{port}", WRITTEN, "sslrootcert={ca}", "a name that is in its certificate"),
    "the first of two": (
        "127.0.0.1:{port},127.0.0.1:1",
        "wr0ng",
        "sslrootcert={ca}",
        'password authentication failed for user "smartspider"; 127.0.0.1:1: Connection refused',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_whoever_is_refused_is_told_why_in_one_line(
    server: PostgresServer, authority: CertificateAuthority, tmp_path: Path, case: str
) -> None:
    hosts, password, query, said = REFUSED[case]
    other = CertificateAuthority(tmp_path).file if "{other}" in query else ""
    query = query.format(ca=authority.file, other=other)
    with pytest.raises(StoreUnavailable) as caught:
        prepare(address(server, hosts, password, f"sslmode=verify-full&{query}"))
    told = f"{caught.value.message} {caught.value.hint}"
    assert said in told
    assert "\n" not in told
    for secret in (SECRET, WRITTEN, "wr0ng"):
        assert secret not in told
