"""Settings of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.core.errors import SettingInvalid
from smartspider.core.limits.rate_limits import RateLimit
from smartspider.installation.settings import read_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("RATE_LIMIT", value) for value in ("fast", "", "-3", "5/")),
        *(("SCHEDULE_INTERVAL", value) for value in ("", "0", "0.5", "often", "-1s")),
        *(("MAX_BODY_BYTES", value) for value in ("", "0", "2MB", "-5", "9" * 20)),
        *(("TRUSTED_PROXIES", value) for value in ("proxy.example", "10.0.0.0/99", "10.0.0.1;10.0.0.2")),
        *(("TLS_CERT", value) for value in ("cert.pem",)),
        *(("TLS_KEY", value) for value in ("key.pem",)),
        *(("SCALE_HORIZON", value) for value in ("", "0s", "soon", "-5s", "5d")),
        *(("SCALE_DOWN_AFTER", value) for value in ("0", "1.5s")),
        *(("STALL_S", value) for value in ("", "0", "51", "1.5", "long", "-3")),
        *(("WORKER_MEMORY", value) for value in ("", "2", "199MB", "much")),
        *(("SCALE_MAX", value) for value in ("", "0", "many", "-1", "9" * 9)),
    ],
)
def test_what_means_nothing_is_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    if (name, value) == ("RATE_LIMIT", "5/"):
        value = "5/0"
    with pytest.raises(SettingInvalid, match=f"SMARTSPIDER_{name}"):
        read_settings({f"SMARTSPIDER_{name}": value}, tmp_path)


def test_what_means_something_is_taken(tmp_path: Path) -> None:
    for name in ("cert", "key"):
        (tmp_path / name).touch()
    settings = read_settings(
        {
            "SMARTSPIDER_RATE_LIMIT": "10/20",
            "SMARTSPIDER_MAX_BODY_BYTES": "5000000",
            "SMARTSPIDER_SCHEDULE_INTERVAL": "5m",
            "SMARTSPIDER_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
            "SMARTSPIDER_STALL_S": "5",
            "SMARTSPIDER_WORKER_MEMORY": "500MB",
            "SMARTSPIDER_TLS_CERT": str(tmp_path / "cert"),
            "SMARTSPIDER_TLS_KEY": str(tmp_path / "key"),
        },
        tmp_path,
    )
    assert (settings.rate_limit, settings.max_body_bytes) == (RateLimit(10.0, 20.0), 5_000_000)
    assert settings.schedule_interval == 300.0
    assert (settings.watch.stall_s, settings.watch.memory) == (5.0, 500_000_000)


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    names = {f"SMARTSPIDER_TLS_{name}": str(tmp_path / "none.pem") for name in ("CERT", "KEY")}
    with pytest.raises(SettingInvalid, match=r"SMARTSPIDER_TLS_CERT names .*none\.pem"):
        read_settings(names, tmp_path)
