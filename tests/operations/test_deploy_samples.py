"""The samples of docs/deploy say what this release understands."""

import datetime as dt
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.core.management import load_command_class

from openwop_console import errors
from openwop_console.process import server, supervisor
from tests.fixtures_console import ConsoleProcess

ROOT = Path(settings.BASE_DIR)
SAMPLES = ROOT / "docs" / "deploy"
NAME = "memory.example.com"
MiB = 1024 * 1024


@pytest.mark.parametrize("part", ["web", "worker"])
def test_a_unit_starts_its_part_of_the_console_and_waits_for_it_to_end(part: str) -> None:
    unit = (SAMPLES / f"openwop-console-{part}.service").read_text()
    (start,) = re.findall(r"^ExecStart=\S+/python manage\.py (.+)$", unit, re.MULTILINE)
    name, *options = shlex.split(start)
    parser = load_command_class("openwop_console", name).create_parser("manage.py", name)
    assert parser.parse_args(options).only == part
    assert re.search(r"^KillMode=mixed$", unit, re.MULTILINE), "the children are told by their console"


def test_every_variable_of_the_sample_is_one_that_the_settings_read() -> None:
    named = re.findall(r"^([A-Z_]+)=", (SAMPLES / "console.env").read_text(), re.MULTILINE)
    read = (ROOT / "openwop_console" / "settings.py").read_text()
    assert "OPENWOP_SECRET_KEY" in named
    assert [name for name in named if f'"{name}"' not in read] == []


def test_the_proxy_refuses_every_client_in_the_clear_and_sends_what_the_console_trusts() -> None:
    proxy = (SAMPLES / "nginx.conf").read_text()
    (refused,) = re.findall(r"location ~ (\S+) \{ return 403; \}", proxy)
    for prefix in errors.FACES:
        assert re.match(refused, f"{prefix}x"), prefix
    assert not re.match(refused, "/login")
    for header in ("X-Forwarded-Proto $scheme", "X-Forwarded-For $proxy_add_x_forwarded_for", "Host $host"):
        assert f"proxy_set_header {header};" in proxy


def test_the_licence_is_the_one_that_the_package_names() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()


def shell_reads(file: Path) -> dict[str, str]:
    """What the shell of the installation exports after it has read the file."""
    read = ["env", "-i", "sh", "-c", f"set -a; . {shlex.quote(str(file))}; env -0"]
    lines = subprocess.run(read, capture_output=True, text=True, check=True).stdout.split("\0")
    return dict(line.split("=", 1) for line in lines if line.startswith(("OPENWOP_", "DATABASE_")))


def filled_in(file: Path, **values: str) -> Path:
    """The sample of the settings in ``file``, with these values where it has its own."""
    text = (SAMPLES / "console.env").read_text()
    for name, value in values.items():
        text, times = re.subn(rf"^{name}='.*'$", f"{name}='{value}'", text, flags=re.MULTILINE)
        assert times == 1, name
    file.write_text(text)
    return file


def test_the_shell_of_the_installation_reads_an_address_with_options_and_a_key_as_they_were_written(
    tmp_path: Path,
) -> None:
    address, key = "postgresql://openwop:a$b@db.example.com/openwop?sslmode=require&connect_timeout=5", "k$1&`" * 8

    read = shell_reads(filled_in(tmp_path / "console.env", DATABASE_URL=address, OPENWOP_SECRET_KEY=key))

    assert (read["DATABASE_URL"], read["OPENWOP_SECRET_KEY"]) == (address, key)


def test_the_program_is_compiled_before_a_user_runs_it_who_may_not_write() -> None:
    steps = re.findall(r"-m compileall -q (.+)$", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests", "tools"}
    assert [set(step.split()) for step in steps] == [packages, packages], "at the installation and at an upgrade"


def make_certificate(folder: Path) -> None:
    """A key and a certificate of ``NAME`` that it signs itself, under the names of the sample."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "privkey.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


@dataclass(frozen=True)
class Proxied:
    """A console in production behind nginx: one client that speaks TLS to it, one in the clear."""

    secure: httpx.Client
    clear: httpx.Client
    access_log: Path
    key: str


def client_of(port: int, scheme: str, verify: ssl.SSLContext | bool = True) -> httpx.Client:
    """A client that reaches ``NAME`` at a port of this machine."""
    transport = httpx.HTTPTransport(verify=verify, retries=6)  # until nginx listens
    return httpx.Client(
        base_url=f"{scheme}://127.0.0.1:{port}", headers={"Host": NAME}, transport=transport, timeout=20
    )


@pytest.fixture
def proxied(console_process: ConsoleProcess, tmp_path: Path) -> Iterator[Proxied]:
    """The web part as its unit starts it, with the sample's settings, and nginx in front with the sample's."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    read = shell_reads(filled_in(tmp_path / "console.env", OPENWOP_SECRET_KEY="k" * 40, DATABASE_URL=""))
    here = {"OPENWOP_DATA_DIR", "OPENWOP_ERASURE_JOURNAL", "DATABASE_URL"}
    console_process.environment |= {name: value for name, value in read.items() if name not in here}
    unit = (SAMPLES / "openwop-console-web.service").read_text()
    (options,) = re.findall(r"^ExecStart=\S+ manage\.py console (.+) --bind \S+$", unit, re.MULTILINE)
    console_process.start(*shlex.split(options))
    with socket.socket() as clear, socket.socket() as secure:
        for each in (clear, secure):
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (clear, secure)]
    make_certificate(tmp_path)
    sample = (SAMPLES / "nginx.conf").read_text()
    for there, instead in (
        ("listen 80;", f"listen 127.0.0.1:{ports[0]};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{ports[1]} ssl http2;"),
        ("127.0.0.1:8000", f"127.0.0.1:{console_process.port}"),
        ("/etc/ssl/openwop-console", str(tmp_path)),
        ("/var/log/nginx", str(tmp_path)),
    ):
        assert there in sample, there
        sample = sample.replace(there, instead)
    sample = re.sub(r"^ *listen \[::\].*$", "", sample, flags=re.MULTILINE)
    folders = "".join(
        f"{each}_temp_path {tmp_path}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "sample.conf").write_text(sample)
    (tmp_path / "nginx.conf").write_text(
        f"{'user root;' if os.getuid() == 0 else ''} daemon off; worker_processes 1; pid {tmp_path}/nginx.pid;\n"
        f"error_log {tmp_path}/error.log; events {{}}\nhttp {{\n{folders}include {tmp_path}/sample.conf;\n}}\n"
    )
    start = [program, "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
    checked = subprocess.run([*start, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    nginx = psutil.Popen(start, preexec_fn=partial(supervisor.die_with_parent, os.getpid()))
    known = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))
    try:
        with client_of(ports[0], "http") as clear_client, client_of(ports[1], "https", known) as secure_client:
            yield Proxied(secure_client, clear_client, tmp_path / "access.log", console_process.key("acme", "owner"))
    finally:
        nginx.terminate()
        nginx.wait(10)


@pytest.mark.console
def test_a_console_in_production_is_served_by_the_samples_of_unit_settings_and_proxy(proxied: Proxied) -> None:
    secure, clear, key = proxied.secure, proxied.clear, {"X-API-Key": proxied.key}
    by_name = {"sni_hostname": NAME}

    assert secure.get("/login", extensions=by_name).status_code == 200, "no redirect to itself"
    assert clear.get("/login").headers["Location"] == f"https://{NAME}/login"
    assert clear.get("/v1/runs", headers=key).status_code == 403
    assert secure.get("/memory?q=marta", extensions=by_name).status_code == 302

    # A body that is too large for its address is refused by the console, in the form of the face.
    large = json.dumps({"content": "x" * (settings.OPENWOP_BODY_BYTES - MiB)})
    sent = key | {"Content-Type": "application/json"}
    refused = secure.put("/v1/host/workspace/files/a", content=large, headers=sent, extensions=by_name)
    assert (refused.status_code, refused.json()["error"]) == (413, "workspace_too_large")

    # No worker runs: the stream of the run has nothing to say but that it is there, and goes on.
    started = {"workflowId": "conformance-noop"}
    run = secure.post("/v1/runs", json=started, headers=key, extensions=by_name).json()["runId"]
    events = key | {"Accept": "text/event-stream"}
    with secure.stream("GET", f"/v1/runs/{run}/events", headers=events, extensions=by_name) as stream:
        assert next(stream.iter_lines()) == ":keepalive"

    assert secure.get("/v1/interrupts/a-token", extensions=by_name).status_code == 404
    logged, patience = "", time.monotonic() + 10
    while '"GET /v1/interrupts/-" 404' not in logged:  # the proxy writes a line once it has answered
        assert time.monotonic() < patience, logged
        logged = proxied.access_log.read_text()
    assert '"GET /memory" 302' in logged
    assert "marta" not in logged
    assert "a-token" not in logged


def test_the_proxy_lets_the_largest_body_and_the_largest_file_through_that_the_console_reads() -> None:
    proxy = (SAMPLES / "nginx.conf").read_text()
    body, upload = (int(found) * MiB for found in re.findall(r"client_max_body_size (\d+)m;", proxy))
    assert body >= settings.OPENWOP_BODY_BYTES
    assert upload >= settings.OPENWOP_IMPORT_BYTES + server.FORM_BYTES
