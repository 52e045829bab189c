"""Users, tokens, secrets, proxies, cookies, notifications, the audit and the checks in the console."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.cookiejar import CookieJar
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import apsw
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import Visitor, grave_findings
from tests.acceptance.server import Server

from smartspider.demo.account import LOGIN_PATH
from smartspider.demo.account import PASSWORD as SHOP_PASSWORD
from smartspider.demo.account import USER as SHOP_USER
from smartspider_testing.chaos.api import WebhookReceiver
from smartspider_testing.servers.ports import free_port

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console settings")]
PASSWORD = "four random words here"
HOSTILE = '<img src=x onerror="alert(1)">'
SCREENS = (
    "/settings?tab=users",
    "/settings?tab=tokens",
    "/settings?tab=system",
    "/secrets",
    "/secrets?tab=vault",
    "/proxies",
    "/cookies",
    "/notifications",
    "/audit",
    "/tasks",
)

KEPT = """
() => JSON.stringify(
  [document.documentElement.outerHTML,
   [...document.querySelectorAll("input, textarea")].map((field) => field.value),
   location.href, history.state, {...localStorage}, {...sessionStorage}])
"""


DROP = """
(text) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], "dropped.txt"));
  const event = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
  document.querySelector("[role=dialog] form").dispatchEvent(event);
}
"""


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as started:
        yield started


def button(place: Page | Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name, exact=True)


def as_role(server: Server, visitor: Visitor, role: str, path: str) -> Page:
    """Open a page that is signed in with a new token of a role."""
    made = server.ask("POST", "/api/tokens", {"name": f"as {role}", "role": role}).expect(201).json
    visitor.context.request.post(f"{server.url}/api/auth/session", data={"token": made["token"]})
    return visitor.open(path)


def sign_in_to_shop(shop: str) -> str:
    """Return the session of a customer of the demo shop."""
    jar = CookieJar()
    opener = build_opener(HTTPCookieProcessor(jar))
    form = opener.open(f"{shop}{LOGIN_PATH}").read().decode()
    found = re.search('name="csrf" value="([^"]+)"', form)
    assert found
    sent = {"csrf": found[1], "user": SHOP_USER, "password": SHOP_PASSWORD}
    opener.open(f"{shop}{LOGIN_PATH}", urlencode(sent).encode()).close()
    return next(str(cookie.value) for cookie in jar)


def signs_in(server: Server, name: str, password: str) -> bool:
    """True if a user with this password may sign in."""
    body = {"username": name, "password": password}
    return server.ask("POST", "/api/auth/session", body).status == 200


def test_a_user_is_created_changed_and_deleted(server: Server, visit: Visit) -> None:
    page = visit().sign_in("/settings")
    expect(page.get_by_text("There is no user yet.")).to_be_visible()
    button(page, "New user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("1ann")
    dialog.get_by_label("Password").fill("short")
    button(dialog, "Create").click()
    for label in ("Name", "Password"):
        expect(dialog.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Name").fill("ann")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_label("Password").press("Enter")
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="ann")
    expect(row).to_contain_text("enabled")
    button(page, "New user").click()
    dialog.get_by_label("Name").fill("ann")
    button(dialog, "Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("a user 'ann' already exists")
    assert dialog.get_by_label("Name").input_value() == "ann"
    button(dialog, "Cancel").click()
    row.click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("Role").select_option("operator")
    button(drawer, "Change the role").click()
    expect(row).to_contain_text("operator")
    drawer.get_by_label("New password").fill(f"{PASSWORD} again")
    button(drawer, "Set the password").click()
    expect(page.get_by_text("User ann has a new password.", exact=True)).to_be_visible()
    assert (signs_in(server, "ann", PASSWORD), signs_in(server, "ann", f"{PASSWORD} again")) == (False, True)
    assert grave_findings(page) == []
    button(drawer, "Disable").click()
    button(page.get_by_role("alertdialog"), "Disable").click()
    expect(row).to_contain_text("disabled")
    assert not signs_in(server, "ann", f"{PASSWORD} again")
    button(drawer, "Delete").click()
    asked = page.get_by_role("alertdialog")
    expect(button(asked, "Delete")).to_be_disabled()
    asked.get_by_role("textbox").fill("ann")
    button(asked, "Delete").click()
    expect(page.get_by_text("There is no user yet.")).to_be_visible()
    assert server.ask("GET", "/api/users").expect(200).json["items"] == []


def test_a_token_is_shown_once_and_appears_nowhere_after(server: Server, visit: Visit) -> None:
    page = visit().sign_in("/settings?tab=tokens")
    button(page, "New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly export")
    dialog.get_by_label("Valid for").select_option("day")
    dialog.get_by_label("runs:read").check()
    dialog.get_by_label("Acts as the user").fill("nobody")
    button(dialog, "Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("nobody")
    dialog.get_by_label("Acts as the user").fill("")
    assert grave_findings(page) == []
    button(dialog, "Create").click()
    shown = dialog.get_by_label("Token", exact=True)
    canary = shown.input_value()
    assert canary.startswith("sst_")
    assert grave_findings(page) == []
    holder = {"Authorization": f"Bearer {canary}"}
    server.ask("GET", "/api/runs", **holder).expect(200)
    server.ask("GET", "/api/tasks", **holder).expect(403)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="nightly export")
    expect(row).to_contain_text("runs:read")
    assert canary not in page.evaluate(KEPT)
    page.reload()
    button(row, "Revoke nightly export").click()
    button(page.get_by_role("alertdialog"), "Revoke").click()
    expect(row).to_contain_text("revoked")
    assert canary not in page.evaluate(KEPT)
    server.ask("GET", "/api/runs", **holder).expect(401)
    for path in ("/api/tokens", "/api/audit?limit=1000", "/api/logs?limit=1000&level=debug"):
        assert canary.encode() not in server.ask("GET", path).expect(200).body
    for file in (server.workshop.folder / "data").rglob("*"):
        assert not file.is_file() or canary.encode() not in file.read_bytes(), file


def test_a_secret_is_set_replaced_and_deleted_and_its_value_appears_nowhere(
    server: Server, visit: Visit
) -> None:
    canary = "canary-of-the-vault-3f9c"
    page = visit().sign_in("/secrets")
    expect(page.get_by_text("There is no secret yet.")).to_be_visible()
    button(page, "Set a secret").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("1 token")
    dialog.get_by_label("Value").fill(canary)
    expect(dialog.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    expect(button(dialog, "Set")).to_be_disabled()
    dialog.get_by_label("Name").fill("API_TOKEN")
    assert dialog.get_by_label("Value").get_attribute("type") == "password"
    assert grave_findings(page) == []
    dialog.get_by_label("Value").press("Enter")
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="API_TOKEN")
    expect(row).to_contain_text("tasks of its owner")
    assert canary not in page.evaluate(KEPT)
    button(row, "Copy as ${API_TOKEN}").click()
    expect(page.get_by_text("${API_TOKEN} copied", exact=True)).to_be_visible()

    button(page, "Set a secret").click()
    dialog.get_by_label("Name").fill("API_TOKEN")
    dialog.get_by_label("Value").fill(f"{canary}-2")
    dialog.get_by_label("The tasks of all users").check()
    button(dialog, "Set").click()
    expect(dialog.get_by_role("status").filter(has_text="Its value is replaced")).to_be_visible()
    assert server.ask("GET", "/api/secrets/API_TOKEN").expect(200).json["version"] == 1
    assert grave_findings(page) == []
    button(dialog, "Replace").click()
    expect(dialog).to_be_hidden()
    expect(row).to_contain_text("tasks of all users")
    row.get_by_role("gridcell").first.click()
    expect(dialog).to_contain_text("version 2")
    assert grave_findings(page) == []
    button(dialog, "Delete").click()
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("cannot be started or resumed without it")
    expect(button(asked, "Delete")).to_be_disabled()
    button(asked, "Cancel").click()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    page.get_by_role("tab", name="Vault").click()
    key = page.get_by_role("definition").first
    before = key.inner_text()
    button(page, "Verify").click()
    expect(page.get_by_text("All values open: 1.")).to_be_visible()
    button(page, "Rotate the master key").click()
    expect(asked).to_contain_text("all sessions end")
    assert grave_findings(page) == []
    button(asked, "Rotate").click()
    expect(key).not_to_have_text(before)
    said = f"The master key is {key.inner_text()} now; values rewrapped: 1."
    expect(page.get_by_text(said, exact=True)).to_be_visible()
    button(page, "Verify").click()
    expect(page.get_by_text("All values open: 1.")).to_be_visible()

    page.get_by_role("tab", name="Secrets").click()
    row.get_by_role("gridcell").first.click()
    button(dialog, "Delete").click()
    asked.get_by_role("textbox").fill("API_TOKEN")
    button(asked, "Delete").click()
    expect(page.get_by_text("There is no secret yet.")).to_be_visible()
    assert server.ask("GET", "/api/secrets").expect(200).json["items"] == []
    assert canary not in page.evaluate(KEPT)
    for path in ("/api/audit?limit=1000", "/api/logs?limit=1000&level=debug"):
        assert canary.encode() not in server.ask("GET", path).expect(200).body
    for file in (server.workshop.folder / "data").rglob("*"):
        assert not file.is_file() or canary.encode() not in file.read_bytes(), file


def test_proxies_are_added_checked_banned_and_removed_and_a_password_appears_nowhere(
    server: Server, visit: Visit
) -> None:
    canary = "canary-of-the-pool-51ab"
    dead = f"127.0.0.1:{free_port()}"
    page = visit().sign_in("/proxies")
    expect(page.get_by_text("There is no proxy yet.")).to_be_visible()
    expect(page.get_by_text("smartspider proxy add URL --pool NAME")).to_be_visible()
    button(page, "Add proxies").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Pool").fill("not a pool")
    dialog.get_by_label("Weight").fill("0")
    for label in ("Pool", "Weight"):
        expect(dialog.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Pool").fill("dc")
    dialog.get_by_label("Weight").fill("2")
    urls = [f"http://ann:{canary}@{dead}", f"ftp://ann:{canary}@c.example", "socks5://b.example:1080"]
    dialog.get_by_label("URLs").fill("\n".join(urls))
    assert grave_findings(page) == []
    button(dialog, "Add 3").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Line 1: the URL does not begin with http://")
    expect(dialog.get_by_label("URLs")).to_have_value(urls[1])
    dialog.get_by_label("URLs").fill(urls[1].replace("ftp", "https"))
    button(dialog, "Add 1").click()
    expect(dialog).to_be_hidden()
    rows = page.get_by_role("grid").locator(".line")
    expect(rows).to_have_count(3)
    assert canary not in page.evaluate(KEPT)

    server.ask("POST", "/api/proxies", {"url": "http://d.example", "pool": "home"}).expect(201)
    page.get_by_label("Pool").fill("home")
    page.get_by_label("Pool").press("Enter")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(f"{server.url}/proxies?pool=home")
    button(page, "All pools").click()
    expect(rows).to_have_count(4)

    row = rows.filter(has_text=dead)
    expect(row).to_contain_text("free")
    row.get_by_role("gridcell").first.click()
    dialog.get_by_label("Page to fetch").fill("no url")
    button(dialog, "Check").click()
    expect(dialog.get_by_role("alert")).to_contain_text("no url")
    dialog.get_by_label("Page to fetch").fill(server.greeting["shop"])
    button(dialog, "Check").click()
    expect(dialog.get_by_role("status").filter(has_text="It does not work")).to_be_visible()
    expect(row).to_contain_text("banned until")
    expect(dialog.get_by_role("definition").first).to_contain_text("the proxy")
    assert grave_findings(page) == []
    button(dialog, "End the ban").click()
    expect(row).to_contain_text("free")
    button(dialog, "Ban").click()
    asked = page.get_by_role("dialog", name=f"Ban http://{dead}")
    asked.get_by_label("Minutes").fill("10")
    button(asked, "Apply").click()
    expect(row).to_contain_text("banned by admin")
    assert grave_findings(page) == []
    button(dialog, "Remove").click()
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("Its URL, its password and its figures are lost")
    button(asked, "Remove").click()
    expect(rows).to_have_count(3)
    assert canary not in page.evaluate(KEPT)
    page.goto(f"{server.url}/proxies?proxy=999999")
    expect(page.get_by_text("There is no proxy 999999 in this list.")).to_be_visible()
    for path in ("/api/proxies", "/api/audit?limit=1000", "/api/logs?limit=1000&level=debug"):
        assert canary.encode() not in server.ask("GET", path).expect(200).body
    for file in (server.workshop.folder / "data").rglob("*"):
        assert not file.is_file() or canary.encode() not in file.read_bytes(), file
    for one in server.ask("GET", "/api/proxies").expect(200).json["items"]:
        server.ask("DELETE", f"/api/proxies/{one['id']}").expect(204)


def test_cookies_are_uploaded_checked_locked_and_deleted_and_a_value_appears_nowhere(
    server: Server, visit: Visit
) -> None:
    shop = server.greeting["shop"].rstrip("/")
    canary, late = sign_in_to_shop(shop), "canary-of-no-login-77d0"
    page = visit().sign_in("/cookies")
    expect(page.get_by_text("There are no cookies yet.")).to_be_visible()
    expect(page.get_by_text("smartspider cookie upload FILE --domain DOMAIN")).to_be_visible()
    button(page, "Upload cookies").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Domain").fill("co.uk")
    dialog.get_by_label("Name").fill("ann")
    page.evaluate(DROP, f"session={canary}")
    expect(dialog.get_by_text("dropped.txt")).to_be_visible()
    dialog.get_by_text("More", exact=True).click()
    dialog.get_by_label("Limit").fill("0")
    dialog.get_by_label("Statuses").fill("many")
    for label in ("Limit", "Statuses"):
        expect(dialog.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Limit").fill("2")
    dialog.get_by_label("Statuses").fill("403")
    button(dialog, "Upload").click()
    expect(dialog.get_by_label("Domain")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Domain").fill("127.0.0.1")
    dialog.get_by_label("Page to check").fill("http://other.example/")
    button(dialog, "Upload").click()
    expect(dialog.get_by_label("Page to check")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Page to check").fill(f"{shop}/account/orders")
    assert grave_findings(page) == []
    lines = (
        f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{canary}",
        f"127.0.0.1\tFALSE\t/\tFALSE\t5\told\t{canary}",
    )
    text = "\n".join((*lines, f"other.example\tTRUE\t/\tFALSE\t0\tthem\t{canary}"))
    dialog.get_by_label("File").set_input_files(
        {"name": "cookies.txt", "mimeType": "text/plain", "buffer": text.encode()}
    )
    expect(dialog.get_by_text("cookies.txt, 2")).to_be_visible()
    button(dialog, "Upload").click()
    said = "Cookies stored for 127.0.0.1: 1. Left out: 1 of other domains, 1 expired."
    expect(page.get_by_text(said, exact=True)).to_be_visible()
    row = page.get_by_role("row").filter(has_text="ann")
    expect(row).to_contain_text("active")
    expect(row).to_contain_text("0 of 2")
    expect(dialog.get_by_role("cell", name="session", exact=True)).to_be_visible()
    assert grave_findings(page) == []
    assert canary not in page.evaluate(KEPT)

    button(dialog, "Check").click()
    expect(dialog.get_by_text(f"Signed in: http 200 at {shop}/account/orders.")).to_be_visible()
    dialog.get_by_label("Page to fetch").fill(f"http://127.0.0.1:{free_port()}/")
    button(dialog, "Check").click()
    expect(dialog.get_by_text("does not tell whether the login works")).to_be_visible()
    dialog.get_by_label("Page to fetch").fill("")
    button(dialog, "Lock").click()
    expect(row).to_contain_text("locked by admin")
    button(dialog, "Unlock").click()
    expect(row).to_contain_text("active")
    button(dialog, "Upload again").click()
    form = page.get_by_role("dialog", name="Upload ann again")
    expect(form.get_by_text("Its cookies are replaced")).to_be_visible()
    form.get_by_label("Or paste cookies").fill(f"Cookie: session={late}")
    button(form, "Replace").click()
    expect(form).to_be_hidden()
    button(dialog, "Check").click()
    expect(dialog.get_by_role("status").filter(has_text="Not signed in")).to_contain_text(
        "asks for a password"
    )
    expect(row).to_contain_text("invalid")
    expect(dialog).to_contain_text("upload the new cookies under the same name, ann.")
    (kept,) = server.ask("GET", "/api/cookies").expect(200).json["items"]
    assert (kept["limit"], kept["signed_out"], kept["shared"]) == (2, {"status": [403]}, False)
    page.keyboard.press("Escape")
    button(page, "Upload cookies").click()
    dialog.get_by_label("Domain").fill("127.0.0.1")
    dialog.get_by_label("Name").fill("ann")
    dialog.get_by_label("Or paste cookies").fill(f"session={canary}")
    button(dialog, "Upload").click()
    expect(dialog.get_by_role("status").filter(has_text="Its cookies are replaced")).to_be_visible()
    button(dialog, "Replace").click()
    expect(row).to_contain_text("active")

    server.ask("POST", "/api/hosts/127.0.0.1/hold", {"seconds": 600}).expect(200)
    task = {"name": "members", "entry_urls": [f"{shop}/account/orders"], "use_cookie": True}
    run_id = server.begin(server.create(task))
    server.ask("POST", "/api/cookies/ann/lock").expect(200)
    page.goto(f"{server.url}/runs/{run_id}")
    stalled = page.get_by_role("region", name="Why no page is fetched")
    expect(stalled).to_contain_text("(ann) are locked: locked by admin")
    assert grave_findings(page) == []
    stalled.get_by_role("link", name="See cookies").click()
    row.get_by_role("gridcell").first.click()
    button(dialog, "Unlock").click()
    expect(row).to_contain_text("active")
    server.ask("POST", "/api/hosts/127.0.0.1/resume").expect(200)
    server.until_state(run_id, "completed")
    page.goto(f"{server.url}/runs/{run_id}?tab=pages")
    page.get_by_role("grid").locator(".line").first.click()
    dialog.get_by_role("link", name=kept["id"], exact=True).click()
    expect(dialog.get_by_role("heading", name="ann for 127.0.0.1")).to_be_visible()
    button(dialog, "Delete").click()
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("Cookies that are lost: 1.")
    button(asked, "Delete").click()
    expect(page.get_by_text("There are no cookies yet.")).to_be_visible()
    page.goto(f"{server.url}/cookies?domain=a.example")
    expect(page.get_by_text("There are no cookies for a.example.")).to_be_visible()
    page.get_by_label("Domain").fill("no domain")
    page.get_by_label("Domain").press("Enter")
    expect(page.get_by_label("Domain")).to_have_attribute("aria-invalid", "true")
    for value in (canary, late):
        assert value not in page.evaluate(KEPT)
        for path in ("/api/cookies", "/api/audit?limit=1000", "/api/logs?limit=1000&level=debug"):
            assert value.encode() not in server.ask("GET", path).expect(200).body
        for stored in (server.workshop.folder / "data").rglob("*"):
            assert not stored.is_file() or value.encode() not in stored.read_bytes(), stored


def test_a_webhook_is_told_changed_paused_and_deleted(
    server: Server, visit: Visit, receiver: WebhookReceiver
) -> None:
    gone = {"name": "gone", "entry_urls": ["http://127.0.0.1:1/"], "retry": {"max_attempts": 1}}
    server.create(gone)
    page = visit().sign_in("/notifications")
    button(page, "New notification").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Way").select_option("email")
    expect(dialog.get_by_role("alert")).to_contain_text("SMARTSPIDER_SMTP_URL")
    dialog.get_by_label("Way").select_option("webhook")
    dialog.get_by_label("URL").fill("ftp://a.example/")
    button(dialog, "Create").click()
    expect(dialog.get_by_label("URL")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("URL").fill(f"{receiver.url}{HOSTILE}")
    dialog.get_by_label("Task").fill("gone")
    assert grave_findings(page) == []
    button(dialog, "Create").click()
    assert dialog.get_by_label("Secret").input_value().startswith("whsec_")
    button(dialog, "Done").click()
    row = page.get_by_role("row").filter(has_text=HOSTILE)
    expect(row).to_contain_text("run failed, far fewer rows than usual")
    row.get_by_role("gridcell").first.click()
    drawer = page.get_by_role("dialog").filter(has=page.get_by_role("heading", name="Deliveries"))
    button(drawer, "Send a test").click()
    expect(drawer.get_by_text("The test was delivered.")).to_be_visible()
    assert receiver.has_received("test")
    server.until_state(server.begin("gone"), "failed")
    expect(drawer.get_by_role("listitem").filter(has_text="delivered")).to_be_visible()
    assert receiver.has_received("run.failed")
    assert grave_findings(page) == []
    button(drawer, "Pause").click()
    expect(row).to_contain_text("paused")
    button(drawer, "Change").click()
    form = page.get_by_role("dialog", name="Change notification")
    form.get_by_label("run failed").uncheck()
    form.get_by_label("Task").fill("nothing of this name")
    button(form, "Save").click()
    expect(form.get_by_role("alert")).to_contain_text("nothing of this name")
    form.get_by_label("Task").fill("")
    button(form, "Save").click()
    expect(form).to_be_hidden()
    expect(row).to_contain_text("all tasks")
    (target,) = server.ask("GET", "/api/notifications").expect(200).json["items"]
    assert (target["enabled"], target["events"]) == (False, ["run.few_rows"])
    assert target["address"] == f"{receiver.url}{HOSTILE}"
    button(drawer, "Delete").click()
    button(page.get_by_role("alertdialog"), "Delete").click()
    expect(page.get_by_text("Nobody is notified of anything yet.")).to_be_visible()


def test_the_audit_is_filtered_and_a_changed_entry_is_found(server: Server, visit: Visit) -> None:
    task = {"name": "noted", "entry_urls": [server.greeting["shop"]]}
    made = (
        server.ask("POST", f"/api/tasks?note={'%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E'}", task)
        .expect(201)
        .json
    )
    page = visit().sign_in("/audit?since=1h")
    page.get_by_label("Action", exact=True).fill("task.created")
    page.get_by_label("Action", exact=True).press("Enter")
    page.get_by_label("About", exact=True).fill(f"task:{made['id']}")
    page.get_by_label("About", exact=True).press("Enter")
    rows = page.get_by_role("grid").locator(".line")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(f"{server.url}/audit?since=1h&action=task.created&subject=task:{made['id']}")
    command = (
        f"smartspider audit list --subject task:{made['id']} --action task.created --since 1h --limit 1000"
    )
    expect(page.get_by_text(command)).to_be_visible()
    rows.first.focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.locator("pre")).to_contain_text("<img src=x onerror=alert(1)>")
    assert grave_findings(page) == []
    button(drawer, "All by admin").click()
    expect(drawer).to_be_hidden()
    expect(page.get_by_label("Who")).to_have_value("admin")
    button(page, "Verify").click()
    expect(page.get_by_text("The audit log is intact")).to_be_visible()
    connection = apsw.Connection(str(server.workshop.folder / "data" / "smartspider.db"))
    connection.set_busy_timeout(10_000)
    entry = connection.execute("SELECT id FROM audit WHERE action = 'task.created' ORDER BY id").fetchall()[
        -1
    ][0]
    connection.execute("UPDATE audit SET actor = 'eve' WHERE id = ?", (entry,))
    connection.close()
    button(page, "Verify").click()
    expect(page.get_by_text(f"The audit log is broken: entry {entry} ")).to_be_visible()
    assert grave_findings(page) == []


def test_the_checks_of_the_server_are_shown(server: Server, visit: Visit) -> None:
    page = visit().sign_in("/settings?tab=system")
    found = server.ask("GET", "/api/doctor").expect(200).json
    for check in found["checks"]:
        expect(page.get_by_role("listitem").filter(has_text=check["name"]).first).to_be_visible()
    said = "checks passed" if found["ok"] else "Failed checks"
    expect(page.get_by_role("main").get_by_role("status").filter(has_text=said)).to_be_visible()


def test_a_viewer_sees_what_is_for_them_and_changes_nothing(server: Server, visit: Visit) -> None:
    hook = {"kind": "webhook", "address": "http://127.0.0.1:1/secret-part", "events": ["run.failed"]}
    made = server.ask("POST", "/api/notifications", hook).expect(201).json
    page = as_role(server, visit(), "viewer", "/settings?tab=users")
    refusal = "Your role (viewer) does not allow this. The role admin does."
    expect(page.get_by_role("main").get_by_text(refusal)).to_be_visible()
    menu = page.get_by_role("navigation").get_by_role("link")
    expect(menu.filter(has_text="Notifications")).to_have_count(1)
    expect(menu.filter(has_text="Audit")).to_have_count(0)
    expect(page.get_by_role("tab", name="Users")).to_have_count(0)
    page.get_by_role("tab", name="API tokens").click()
    expect(button(page, "New token")).to_have_count(0)
    for text in ("New token", "Revoke"):
        control = page.get_by_role("main").locator("button").filter(has_text=text).first
        expect(control).to_have_attribute("aria-disabled", "true")
        expect(control).to_have_attribute(
            "title", "Your role (viewer) does not allow this. The roles operator and admin do."
        )
    page.goto(f"{server.url}/audit")
    expect(page.get_by_role("heading", name="Not for your role")).to_be_visible()
    expect(page.get_by_role("main").get_by_text(refusal)).to_be_visible()
    page.goto(f"{server.url}/notifications?target={made['id']}")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="http://127.0.0.1:1/…")).to_be_visible()
    for text in ("Send a test", "Change", "Pause", "Delete"):
        expect(drawer.locator("button").filter(has_text=text)).to_have_attribute("aria-disabled", "true")
    page.goto(f"{server.url}/notifications?target=999999")
    expect(drawer.get_by_role("alert")).to_contain_text("not_found")
    server.ask("DELETE", f"/api/notifications/{made['id']}").expect(204)
    server.ask("PUT", "/api/secrets/OF_ADMIN", {"value": "a"}).expect(200)
    page.goto(f"{server.url}/secrets?secret=OF_ADMIN")
    expect(drawer).to_contain_text("tasks of its owner")
    for text in ("Replace", "Delete"):
        expect(drawer.locator("button").filter(has_text=text)).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Escape")
    control = page.get_by_role("main").locator("button").filter(has_text="Set a secret")
    expect(control).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_role("tab", name="Vault")).to_have_count(0)
    page.goto(f"{server.url}/secrets?tab=vault")
    expect(page.get_by_role("main").get_by_text(refusal)).to_be_visible()
    server.ask("DELETE", "/api/secrets/OF_ADMIN").expect(204)
    body = {"url": "http://127.0.0.1:9", "pool": "of-admin"}
    id_ = server.ask("POST", "/api/proxies", body).expect(201).json["id"]
    page.goto(f"{server.url}/proxies?pool=of-admin&proxy={id_}")
    expect(drawer.get_by_role("heading", name="http://127.0.0.1:9")).to_be_visible()
    for text in ("Ban", "Remove", "Check"):
        control = drawer.get_by_role("button", name=text).first
        expect(control).to_have_attribute("title", refusal)
    page.keyboard.press("Escape")
    control = page.get_by_role("main").locator("button").filter(has_text="Add proxies")
    expect(control).to_have_attribute("aria-disabled", "true")
    server.ask("DELETE", f"/api/proxies/{id_}").expect(204)
    body = {"domain": "a.example", "name": "of-admin", "cookies": "a=1"}
    id_ = server.ask("POST", "/api/cookies/upload", body).expect(201).json["id"]
    page.goto(f"{server.url}/cookies?cookies={id_}")
    expect(drawer.get_by_role("heading", name="of-admin for a.example")).to_be_visible()
    for text in ("Upload again", "Lock", "Delete", "Check"):
        control = drawer.locator("button").filter(has_text=text).first
        expect(control).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Escape")
    control = page.get_by_role("main").locator("button").filter(has_text="Upload cookies")
    expect(control).to_have_attribute("aria-disabled", "true")
    server.ask("DELETE", f"/api/cookies/{id_}").expect(204)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_no_screen_has_a_grave_fault_or_is_wider_than_a_phone(
    server: Server, visit: Visit, locale: str
) -> None:
    visitor = visit(locale=locale, viewport={"width": 375, "height": 760}, reduced_motion="reduce")
    visitor.context.request.post(f"{server.url}/api/auth/session", data={"token": server.token})
    page = visitor.open("/settings")
    for path in SCREENS:
        page.goto(server.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(
            page.get_by_role("main").get_by_role("tabpanel").or_(page.get_by_role("grid")).first
        ).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert grave_findings(page) == [], (path, scheme)
