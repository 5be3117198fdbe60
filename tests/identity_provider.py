"""A small OpenID Connect provider on this machine: it asks who signs in, and says of them what a test has set."""

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "console", "the secret of the console"


@cache
def new_key(number: int = 0) -> rsa.RSAPrivateKey:
    """One of the keys that providers sign with: to make one takes as much CPU as several requests."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """Its address, the claims of the person who signs in next, and what to do wrong."""

    def __init__(self) -> None:
        self.key = self.signs_with = new_key()
        self.claims: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        self.wrong: dict[str, Any] = {}
        self.answers: Any = None  # what it says in place of tokens
        self.codes: dict[str, dict[str, str]] = {}
        self.issuer = ""
        self.elsewhere: dict[str, str] = {}  # what the metadata say of endpoints, in place of this server's own
        self.moved: dict[str, str] = {}  # where a request for a path is redirected to

    def person(self, sub: str, email: str, *groups: str, verified: bool = True) -> None:
        self.claims = {"sub": sub, "email": email, "email_verified": verified, "groups": list(groups)}
        self.userinfo = {"sub": sub}

    def metadata(self) -> dict[str, Any]:
        places = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        found = {f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in places.items()}
        return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks", **found, **self.elsewhere}

    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": "1"}]}

    def code(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to once somebody has signed in."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def tokens(self, sent: dict[str, str]) -> Any:
        asked = self.codes.pop(sent.get("code", ""), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if not asked or asked["code_challenge"] != challenge or sent.get("client_secret") != CLIENT_SECRET:
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 60, **self.claims, **self.wrong}
        signed = jwt.encode(claims, self.signs_with, algorithm="RS256", headers={"kid": "1"})
        return (
            {"access_token": "a", "token_type": "Bearer", "id_token": signed} if self.answers is None else self.answers
        )


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: Any, kind: str = "application/json") -> None:
            raw = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def move(self, location: str) -> None:
            self.send_response(307)
            self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            place = urlsplit(self.path)
            if place.path in provider.moved:
                self.move(provider.moved[place.path])
                return
            asked = {name: values[0] for name, values in parse_qs(place.query).items()}
            if place.path == "/authorize":
                hidden = "".join(f'<input type="hidden" name="{n}" value="{html.escape(v)}">' for n, v in asked.items())
                page = (
                    f'<!doctype html><link rel="icon" href="data:,"><form method="post">{hidden}<button>Allow</button>'
                )
                self.answer(200, page, "text/html")
                return
            known = {
                "/.well-known/openid-configuration": provider.metadata,
                "/jwks": provider.jwks,
                "/userinfo": lambda: provider.userinfo,
            }
            found = known.get(place.path)
            self.answer(200 if found else 404, found() if found else {})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = {name: values[0] for name, values in parse_qs(raw).items()}
            if self.path.startswith("/authorize"):
                self.send_response(303)
                self.send_header("Location", provider.code(sent))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path in provider.moved:
                self.move(provider.moved[self.path])
                return
            found = provider.tokens(sent)
            self.answer(200 if found else 400, found or {"error": "invalid_grant"})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
