"""Passwords and TLS on real servers: alone, behind Sentinels that ask for their own, and as a cluster."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.servers import open_servers
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import FrontierUnavailable, SettingInvalid
from smartspider_testing.servers import RedisCluster, RedisServer, SentinelGroup
from smartspider_testing.servers.certificates import Certificate, CertificateAuthority
from smartspider_testing.servers.redis.security import Encryption, RedisSecurity
from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.servers

SECRET = "s3cret/+pw"
WRITTEN = "s3cret%2F%2Bpw"
ACL = f"spider on >{SECRET} resetkeys ~{{smartspider:* +@read +@write +@scripting +@connection +info +time"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def client(authority: CertificateAuthority) -> Certificate:
    return authority.sign("client", "DNS:client")


@pytest.fixture(scope="module")
def server(
    authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RedisServer]:
    """Over TLS alone, for clients with a certificate and a user who may do what a frontier needs."""
    guard = RedisSecurity("administrator", Encryption(authority, authority.sign("server"), asks_clients=True))
    options = {"user": ACL, "bind": "127.0.0.1 127.0.0.2"}
    with RedisServer(tmp_path_factory.mktemp("redis"), guard=guard, options=options) as made:
        yield made


def trusted(authority: CertificateAuthority, client: Certificate | None = None) -> str:
    own = f"&ssl_certfile={client.file}&ssl_keyfile={client.key}" if client else ""
    return f"ssl_ca_certs={authority.file}{own}"


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@asynccontextmanager
async def shards_at(url: str) -> AsyncIterator[Shards]:
    """A frontier; its connections are gone at the end: what TLS refused is closed a moment later."""
    before = open_files()
    shards = Shards(read_url(url))
    try:
        yield shards
    finally:
        await shards.close()
        async with asyncio.timeout(WAIT_S):
            while open_files() > before:  # noqa: ASYNC110 - the client tells nobody
                await asyncio.sleep(0.001)


async def looks(url: str) -> bool:
    """Whether every part of the frontier at an address answers."""
    async with shards_at(url) as shards:
        for shard in range(shards.count):
            await shards.call(shard, "look")
    return True


async def refused(url: str) -> FrontierUnavailable:
    with pytest.raises(FrontierUnavailable) as caught:
        await looks(url)
    told = f"{caught.value.message} {caught.value.hint}"
    assert SECRET not in told
    assert WRITTEN not in told
    assert "\n" not in told
    assert caught.value.hint
    return caught.value


async def test_a_user_with_a_certificate_is_let_in(
    server: RedisServer, authority: CertificateAuthority, client: Certificate
) -> None:
    place = server.url.replace("://", f"://spider:{WRITTEN}@")
    assert await looks(f"{place}?{trusted(authority, client)}")


GOOD = f"spider:{WRITTEN}"
REFUSED = {
    "wrong password": ("spider:wr0ng", "127.0.0.1", "{known}", "username-password pair", "before the @"),
    "no password": (":", "127.0.0.1", "{known}", "NOAUTH|uthenticat", "before the @"),
    "unknown authority": (GOOD, "127.0.0.1", "", "self-signed certificate", "ssl_ca_certs="),
    "no certificate": (GOOD, "127.0.0.1", "ssl_ca_certs={ca}", "required|reset|closed", "ssl_certfile="),
    "another host": (GOOD, "127.0.0.2", "{known}", "not valid for", "ssl_check_hostname=false"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_whoever_is_refused_is_told_what_to_do(
    server: RedisServer, authority: CertificateAuthority, client: Certificate, case: str
) -> None:
    user, host, options, said, hint = REFUSED[case]
    query = options.format(known=trusted(authority, client), ca=authority.file)
    error = await refused(f"rediss://{user}@{host}:{server.port}?{query}")
    assert error.message.startswith(f"the frontier's Redis at {host}:{server.port} cannot be used: ")
    assert re.search(said, error.message)
    assert hint in error.hint


async def test_names_and_certificates_are_left_out_only_by_word(
    server: RedisServer, authority: CertificateAuthority, client: Certificate
) -> None:
    place = f"rediss://{GOOD}@127.0.0.2:{server.port}"
    own = f"ssl_certfile={client.file}&ssl_keyfile={client.key}"
    assert await looks(f"{place}?{trusted(authority, client)}&ssl_check_hostname=false")
    assert await looks(f"{place}?{own}&ssl_cert_reqs=none")


async def test_a_password_that_a_server_repeats_is_not_shown(tmp_path: Path) -> None:
    with (
        RedisServer(tmp_path, options={"rename-command": 'AUTH ""'}) as server,
        pytest.raises(FrontierUnavailable, match="unknown command") as caught,
    ):
        await looks(server.url.replace("://", f"://{GOOD}@"))
    assert SECRET not in caught.value.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("ssl_ca_certs={folder}/none.pem", r"\bssl_ca_certs\b.*: No such file"),
        ("ssl_ca_certs={folder}/client.key", r"\bssl_ca_certs\b.*: no key or certificate"),
        ("ssl_certfile={folder}/client.pem", r"\bssl_certfile\b.*\bssl_keyfile\b.*: no key"),
        ("ssl_certfile={folder}/client.pem&ssl_keyfile={folder}/locked.key", "without a password"),
    ],
)
def test_files_that_are_of_no_use_are_refused_at_once(client: Certificate, options: str, said: str) -> None:
    locked = client.key.with_name("locked.key")
    words = ["openssl", "ec", "-in", str(client.key), "-aes128", "-passout", "pass:x", "-out", str(locked)]
    subprocess.run(words, check=True, capture_output=True)
    with pytest.raises(SettingInvalid, match=said):
        open_servers(read_url(f"rediss://h?{options.format(folder=client.file.parent)}"))


@pytest.mark.thorough
async def test_sentinels_may_have_a_password_of_their_own(
    authority: CertificateAuthority, client: Certificate, tmp_path: Path
) -> None:
    """Both sides over TLS and with passwords of their own."""
    encryption = Encryption(authority, authority.sign("sentinel"), asks_clients=True)
    guards = RedisSecurity("of-servers", encryption), RedisSecurity(SECRET, encryption)
    with SentinelGroup(tmp_path, guards=guards, replicas=0, sentinels=1) as group:
        place = group.url.replace("://", "://:of-servers@")
        known = f"tls=1&{trusted(authority, client)}"
        assert await looks(f"{place}?{known}&sentinel_password={WRITTEN}")
        error = await refused(f"{place}?{known}")
        assert (
            f"no Sentinel names a master 'smartspider': 127.0.0.1:{group.sentinels[0].port}" in error.message
        )
        assert "sentinel_password" in error.hint
        error = await refused(f"{place}?tls=1&sentinel_password={WRITTEN}")
        assert "ssl_ca_certs=" in error.hint
        assert len(error.message) < 400


@pytest.mark.thorough
async def test_a_cluster_speaks_tls_and_asks_for_a_password(
    authority: CertificateAuthority, client: Certificate, tmp_path: Path
) -> None:
    guard = RedisSecurity(SECRET, Encryption(authority, authority.sign("node"), asks_clients=True))
    with RedisCluster(tmp_path, masters=1, guard=guard) as cluster:
        place = cluster.url.replace("://", f"://:{WRITTEN}@")
        assert await looks(f"{place}?tls=1&{trusted(authority, client)}")
        assert "ssl_ca_certs=" in (await refused(f"{place}?tls=1")).hint
        wrong = cluster.url.replace("://", "://:wr0ng@")
        assert "before the @" in (await refused(f"{wrong}?tls=1&{trusted(authority, client)}")).hint
