"""A server as a newcomer meets it: what `up` says, and what it is like to stop it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.server import Server, served
from tests.acceptance.workshop import Workshop, is_running, until

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).parents[2]
TOKEN = re.compile(r"sst_[\w-]+")
LINK = re.compile(r"ssl_[\w-]+")


def greeting_shown() -> list[str]:
    """Return the greeting of a server as the README shows it."""
    text = (ROOT / "README.md").read_text().partition("## As a service")[2]
    shown: list[str] = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return shown[0].splitlines()


def test_make_serve_is_up_with_the_demo_shop() -> None:
    said = subprocess.run(["make", "-n", "serve"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ".venv/bin/smartspider up --demo" in said.stdout


def test_the_first_start_says_where_everything_is_and_the_next_one_shows_no_token(workshop: Workshop) -> None:
    up = workshop.start("up", "--demo", "--demo-port", "0", "--port", "0", "--data", ".smartspider/server")
    until(lambda: up.has_ended() or "Ctrl-C" in up.err, "the greeting")
    masked = LINK.sub("ssl_...", TOKEN.sub("sst_...", up.err))
    said = re.sub(r"(?<=127\.0\.0\.1:)\d+", "#", masked).splitlines()
    assert said == [re.sub(r"(?<=127\.0\.0\.1:)\d+", "#", line) for line in greeting_shown()]
    (token,) = TOKEN.findall(up.err)
    url = re.findall(r"http://127\.0\.0\.1:\d+", up.err)[0]
    server = Server(workshop, token=token)
    server.url = url
    assert server.ask("GET", "/api/auth/me").expect(200).json["role"] == "admin"
    up.signal(signal.SIGINT)
    assert up.wait().code == 0
    kept = [path.read_bytes() for path in (workshop.folder / ".smartspider").rglob("*") if path.is_file()]
    secrets = (token, *LINK.findall(up.err))
    assert not any(secret.encode() in text for text in kept for secret in secrets), "they are kept nowhere"
    again = workshop.start("up", "--port", "0", "--data", ".smartspider/server")
    until(lambda: again.has_ended() or "Ctrl-C" in again.err, "the greeting")
    assert not TOKEN.search(again.err)
    again.signal(signal.SIGTERM)
    assert again.wait().code == 0


def test_a_port_that_is_taken_is_said_and_nothing_is_started(workshop: Workshop) -> None:
    with served(workshop, "--workers", "0") as server:
        port = server.url.rpartition(":")[2]
        other = workshop.run("up", "--port", port, "--data", "other").expect(2)
        assert "cannot listen on" in other.err
        assert not (workshop.folder / "other").exists()


def test_a_port_of_the_shop_that_is_taken_is_said(workshop: Workshop) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        up = workshop.run("up", "--demo", "--demo-port", port, "--port", "0", "--data", "data").expect(2)
    assert "--demo-port" in up.err


def test_a_drained_worker_leaves_and_is_not_replaced(workshop: Workshop) -> None:
    with served(workshop, "--workers", "1") as server:
        until(lambda: bool(server.ask("GET", "/api/nodes").json["items"]), "the worker to join")
        node = server.ask("GET", "/api/nodes").json["items"][0]["node"]
        server.ask("POST", f"/api/nodes/{node}/drain").expect(202)
        until(lambda: "worker 0 exited as requested" in server.command.err, "the worker to leave")
        assert json.loads(server.ask("GET", "/readyz").expect(503).body)["missing"] == ["workers"]


@pytest.mark.parametrize("name", ["smartspider.api.process", "keeper_process", "worker_process"])
def test_a_process_that_dies_is_replaced_and_the_rest_never_notices(workshop: Workshop, name: str) -> None:
    with served(workshop, "--workers", "1") as server:
        before = {pid: _command(pid) for pid in server.processes()}
        (victim,) = [pid for pid, command in before.items() if name in command]
        subprocess.run(["kill", "-9", str(victim)], check=True)
        until(
            lambda: name in "".join(_command(pid) for pid in server.processes() if pid != victim),
            "another one",
        )
        assert set(before) - {victim} <= set(server.processes())
        until(lambda: json.loads(server.ask("GET", "/readyz").body)["ready"], "the server to be ready")
        assert not is_running(victim)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
