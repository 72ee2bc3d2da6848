# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A token server for the registry that asks for tokens: signs what a user may do, as the big registries' own do.

Everybody may pull what is below `public/`; the user may do everything, by password or by identity token. It is a
program of its own: `token_server.py SETTINGS.json`, and needs no more than Python and openssl.
"""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

Query = dict[str, list[str]]


class Settings(t.NamedTuple):
    """What the server is told in its file.

    :ivar life: seconds for which a token is good.
    """

    port: int
    issuer: str
    service: str
    certificate: str
    key: str
    username: str
    password: str
    identity_token: str
    life: int


class _Refused(Exception):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `GET /token` with a password or none, and `POST /token` with an identity token."""

    protocol_version = "HTTP/1.1"
    settings: Settings

    def do_GET(self) -> None:
        self._serve(parse_qs(urlsplit(self.path).query), self._password_user)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = parse_qs(body)
        self._serve(form, lambda: self._identity_user(form))

    def _serve(self, query: Query, find_user: t.Callable[[], str]) -> None:
        try:
            user = find_user()
        except _Refused as exc:
            error = {"errors": [{"code": "UNAUTHORIZED", "message": str(exc)}]}
            self._answer(401, error, {"WWW-Authenticate": f'Basic realm="{self.settings.issuer}"'})
            return
        access = [granted for scope in query.get("scope", []) for granted in _granted(scope, user)]
        token = _signed(self.settings, user, access)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._answer(200, {"token": token, "expires_in": self.settings.life, "issued_at": now}, {})

    def _password_user(self) -> str:
        header = self.headers.get("Authorization", "")
        if not header:
            return ""
        pair = base64.b64encode(f"{self.settings.username}:{self.settings.password}".encode()).decode()
        if header != f"Basic {pair}":
            raise _Refused("incorrect username or password")
        return self.settings.username

    def _identity_user(self, form: Query) -> str:
        if form.get("grant_type") != ["refresh_token"] or form.get("refresh_token") != [self.settings.identity_token]:
            raise _Refused("incorrect identity token")
        return self.settings.username

    def _answer(self, status: int, document: t.Mapping[str, t.Any], headers: t.Mapping[str, str]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _granted(scope: str, user: str) -> t.Iterator[dict[str, t.Any]]:
    """What of the rights asked for in `repository:NAME:pull,push` this user has."""
    kind, _colon, rest = scope.partition(":")
    name, _colon, actions = rest.rpartition(":")
    allowed = {"pull", "push", "delete"} if user else {"pull"} if name.startswith("public/") else set()
    yield {"type": kind, "name": name, "actions": sorted(allowed & set(actions.split(",")))}


def _signed(settings: Settings, user: str, access: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    now = int(time.time())
    header = {"typ": "JWT", "alg": "ES256", "x5c": [_der(Path(settings.certificate).read_text(encoding="ascii"))]}
    claims = {
        "iss": settings.issuer, "sub": user, "aud": settings.service, "access": access, "jti": os.urandom(8).hex(),
        "iat": now, "nbf": now - 10, "exp": now + settings.life,
    }  # fmt: skip
    signed = ".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
    command = ["openssl", "dgst", "-sha256", "-sign", settings.key]
    signature = subprocess.run(command, input=signed.encode(), capture_output=True, check=True).stdout
    return f"{signed}.{_base64url(_raw(signature))}"


def _raw(der: bytes) -> bytes:
    """Both numbers of a signature on the curve P-256, one after the other, from their ASN.1 form."""
    numbers, place = [], 2
    for _number in range(2):
        length = der[place + 1]
        numbers.append(int.from_bytes(der[place + 2 : place + 2 + length], "big").to_bytes(32, "big"))
        place += 2 + length
    return b"".join(numbers)


def _der(pem: str) -> str:
    """The certificate's content between its first two lines of dashes, on one line."""
    return "".join(pem.partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END")[0].split())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def main(path: str) -> None:
    Handler.settings = Settings(**json.loads(Path(path).read_text(encoding="utf-8")))
    http.server.ThreadingHTTPServer(("127.0.0.1", Handler.settings.port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
