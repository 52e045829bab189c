"""The checks of a server over REST."""

from __future__ import annotations

from tests.unit.api.asking import ADMIN_TOKEN, Caller

from smartspider.operations.services import Services


async def test_an_admin_sees_what_is_well_and_what_is_not(api: Caller, services: Services) -> None:
    answer = (await api.get("/api/doctor")).expect(200)
    checks = {one["name"]: one for one in answer.json["checks"]}
    assert {
        "python",
        "sqlite",
        "free disk",
        "open files",
        "store",
        "clock",
        "workers",
        "keeper",
    } <= checks.keys()
    assert checks["store"] == {"name": "store", "ok": True, "detail": "writable"}
    assert not checks["keeper"]["ok"]  # none runs here
    assert answer.json["ok"] is False
    assert ADMIN_TOKEN not in str(answer.json)
    keys = services.installation.path / "master.key"
    assert not keys.exists() or keys.read_text().strip() not in str(answer.json)


async def test_files_that_others_may_read_are_named(api: Caller, services: Services) -> None:
    services.installation.path.chmod(0o755)
    (services.installation.path / "smartspider.db").chmod(0o644)
    found = (await api.get("/api/doctor")).expect(200).json["checks"]
    (check,) = [one for one in found if one["name"].startswith("permissions")]
    assert (check["ok"], "smartspider.db" in check["detail"]) == (False, True)


async def test_others_than_admins_do_not_see_the_machine(api: Caller) -> None:
    for role in ("viewer", "operator", "worker"):
        made = (await api.post("/api/tokens", {"name": role, "role": role})).expect(201).json
        (await api.with_token(made["token"]).get("/api/doctor")).expect(403)
