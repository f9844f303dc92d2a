"""What looks like a secret, and what only speaks of one."""

from __future__ import annotations

import pytest

from hermes_build.compiler.bundling.secrets import find_secrets, hide_secrets

# Put together here, so that nothing in this file is taken for a secret by others.
AWS = "AKIA" + "Z7Q4R2T9W3K5M8N1"
GITHUB = "ghp_" + "x7Qz9Lk2Wm4Rt8Yv3Bn6Hs1Dc5Gf0Jp"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----"
BODY = "MIIEowIBAAKCAQEAx7Qz9Lk2Wm4Rt8Yv"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (f"key = '{AWS}'", AWS),
        (f"see {GITHUB} there", GITHUB),
        (f"{PEM}\n{BODY}\n-----END RSA PRIVATE KEY-----", None),
        (f'KEY = "{PEM}\\n{BODY}"', None),
        ('password = "hunter2"', "hunter2"),
        ("DB_PASSWORD = 'correct-horse'", "correct-horse"),
        ('password: str = "letmein"', "letmein"),
        ('{"api_key": "a1b2c3d4e5f6"}', "a1b2c3d4e5f6"),
        ('config["secret"] = "9f8e7d6c5b"', "9f8e7d6c5b"),
        ('client_secret="Zx81kQw9"', "Zx81kQw9"),
    ],
)
def test_a_secret_is_found_where_it_stands(text: str, part: str | None) -> None:
    (one,) = find_secrets(text, code=True)
    assert part is None or text[one.start : one.end] == part
    assert part is None or part not in one.what


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["PASSWORD"]',
        'PASSWORD_VARIABLE = "DATABASE_PASSWORD"',
        'password = "<your password>"',
        'password = "${PASSWORD}"',
        'password = "example"',
        'password = "changeme"',
        'token = "access_token"',
        'token_type = "bearer"',
        'api_key = ""',
        'key = "name"',
        'secret = "xxxxxxxxxxxx"',
        'AWS = "AKIAIOSFODNN7EXAMPLE"',
        'if line.startswith("-----BEGIN PRIVATE KEY-----"):',
        '"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
        'tokens = "12345678"',
        'password_file = "/run/secrets/password"',
    ],
)
def test_what_stands_for_a_secret_is_none(text: str) -> None:
    assert find_secrets(text, code=True) == []


def test_a_value_without_quotes_counts_where_values_have_none() -> None:
    text = "user: me\npassword: hunter2\ntoken: string\nnotes: the password: ask\n"
    assert [text[one.start : one.end] for one in find_secrets(text, code=False)] == ["hunter2"]
    assert find_secrets(text, code=True) == []
    assert find_secrets("password: {type: string}\npassword: string\n", code=False) == []


def test_a_hidden_secret_keeps_its_place_and_its_length() -> None:
    text = f'one\npassword = "hunter2"  # why\n{AWS}\n'
    shown = hide_secrets(text, code=True)
    assert shown == f'one\npassword = "•••••••"  # why\n{"•" * len(AWS)}\n'


def test_a_token_is_found_whole_however_long_it_is_and_wherever_its_mark_stands() -> None:
    part = "x7Qz9Lk2Wm4Rt8Yv" * 80
    long = f"eyJhbGciOiJIUzI1NiJ9.{part}.{part}"
    hook = "discordapp.com/api/v10/webhooks/" + "1" * 19 + "/" + "x7Qz9Lk2Wm4Rt8Yv3Bn6"
    for before in ("", "İ" * 700, "key " * 300):
        for token in (long, hook):
            text = f"{before} {token}\n{AWS}"
            spans = [text[one.start : one.end] for one in find_secrets(text, code=True)]
            assert spans == [token, AWS]
