"""Credentials are hidden wherever they stand, and prose about them is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.runtime.masking import mask

BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HEX = "0123456789abcdef0123456789abcdef"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA{0}\n{0}==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("sk-abcdef1234567890", "sk-ab…[masked]"),
        (f"sk-{BODY}", "sk-a1B2…[masked]"),
        (f"sk-proj-{BODY}", "sk-proj-a1B2…[masked]"),
        (f"sk-ant-api03-{BODY}", "sk-ant-api03-a1B2…[masked]"),
        (f"sk-or-v1-{HEX}", "sk-or-v1-0123…[masked]"),
        (f"ghp_{BODY}", "ghp_a1B2…[masked]"),
        (f"gho_{BODY}", "gho_a1B2…[masked]"),
        (f"github_pat_11{BODY}_{BODY}", "github_pat_11a1…[masked]"),
        (f"glpat-{BODY}.01.0z0z0z", "glpat-a1B2…[masked]"),
        ("xoxb-123456789012-1234567890123-abcdef", "xoxb-1234…[masked]"),
        (f"xapp-1-A0-{HEX}", "xapp-1-A0…[masked]"),
        (f"AIzaSy{BODY}", "AIzaSya1…[masked]"),
        (f"ya29.{BODY}", "ya29.a1B2…[masked]"),
        (f"hf_{BODY}", "hf_a1B2…[masked]"),
        (f"npm_{BODY}", "npm_a1B2…[masked]"),
        (f"pypi-AgEIcHlwaS5vcmc{BODY}", "pypi-AgEI…[masked]"),
        (f"sk_live_{BODY}", "sk_live_a1B2…[masked]"),
        (f"rk_test_{BODY}", "rk_test_a1B2…[masked]"),
        (f"gsk_{BODY}", "gsk_a1B2…[masked]"),
        (f"dop_v1_{HEX}", "dop_v1_0123…[masked]"),
        (f"dapi{HEX}", "dapi0123…[masked]"),
        (f"SG.{BODY}.{BODY}", "SG.a1B2…[masked]"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIO…[masked]"),
        ("ASIAIOSFODNN7EXAMPLE", "ASIAIO…[masked]"),
        (f"110201543:AA{BODY[:33]}", "110201543:AAa1…[masked]"),
        ("123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11", "123456:ABC-…[masked]"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/" + BODY,
            "https://hooks.slack.com/services/T000…[masked]",
        ),
        (
            f"https://discord.com/api/webhooks/123456789/{BODY}",
            "https://discord.com/api/webhooks/123456789/a1B2…[masked]",
        ),
        (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{BODY}", "eyJ…[masked]"),
        (PEM.format("A" * 60), "-----BEGIN…[masked]"),
        (
            PEM.format("AA").replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
            "-----BEGIN…[masked]",
        ),
    ],
)
def test_a_token_of_a_known_shape_is_hidden_but_for_what_tells_which_it_is(
    token: str, shown: str
) -> None:
    assert mask(token) == shown
    assert mask(f"Failed with ({token}): try again") == f"Failed with ({shown}): try again"
    assert mask(f'{{"a": "{token}"}}') == f'{{"a": "{shown}"}}'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Environment.
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[masked]"),
        ("export API_KEY='a b'", "export API_KEY='[masked]'"),
        ("SECRET_KEY_BASE=abc GITHUB_TOKEN=x", "SECRET_KEY_BASE=[masked] GITHUB_TOKEN=[masked]"),
        ("PASSWORD=a,b;c)d&e", "PASSWORD=[masked]"),
        ("aws_secret_access_key = wJalr/K7=+", "aws_secret_access_key = [masked]"),
        # Query strings, forms, connection strings.
        ("/x?user=a&token=abc&n=1", "/x?user=a&token=[masked]&n=1"),
        ("client_secret=abc&grant=x", "client_secret=[masked]&grant=x"),
        ("/x?sig=0123456789abcdef&se=1", "/x?sig=[masked]&se=1"),
        ("Server=h;Pwd=hunter2;Database=d", "Server=h;Pwd=[masked];Database=d"),
        ("AccountKey=abc==;Suffix=core", "AccountKey=[masked];Suffix=core"),
        # JSON, also within JSON, and Python.
        ('{"password": "a b", "n": 1}', '{"password": "[masked]", "n": 1}'),
        ('{"apiKey":"abc"}', '{"apiKey":"[masked]"}'),
        ('{"access_token": "a\\"b"}', '{"access_token": "[masked]"}'),
        ('"{\\"secret\\": \\"abc\\"}"', '"{\\"secret\\": \\"[masked]\\"}"'),
        ("{'client_secret': 'abc'}", "{'client_secret': '[masked]'}"),
        ("connect(host='h', password='it's', n=1)", "connect(host='h', password='[masked]', n=1)"),
        ("connect(password=abc)", "connect(password=[masked])"),
        ('{"password": 12345, "n": 1}', '{"password": [masked], "n": 1}'),
        ('{"password": "cut off in the mid', '{"password": "[masked]'),
        # YAML, TOML, XML.
        ("db:\n  password: letmein\n  port: 1", "db:\n  password: [masked]\n  port: 1"),
        ("- api_key: abc # mine", "- api_key: [masked] # mine"),
        ('token = "abc"', 'token = "[masked]"'),
        ("<a:password>abc</a:password>", "<a:password>[masked]</a:password>"),
        # Headers and command lines.
        ("Authorization: Bearer abcdef", "Authorization: Bearer [masked]"),
        ("Authorization: Basic dTpw", "Authorization: Basic [masked]"),
        ('{"Authorization": "token abc"}', '{"Authorization": "token [masked]"}'),
        ('Authorization: Digest username="u", response="r"', "Authorization: Digest [masked]"),
        ("sent X-Api-Key: abc-123-def", "sent X-Api-Key: [masked]"),
        ("sent Bearer abc123def456", "sent Bearer [masked]"),
        ("sent Basic dXNlcjpwYXNz", "sent Basic [masked]"),
        ("Cookie: a=1; b=2\nHost: h", "Cookie: [masked]\nHost: h"),
        ("['mysql', '--password', 'a b']", "['mysql', '--password', '[masked]']"),
        ("curl --token abc123def", "curl --token [masked]"),
        # In the middle of a sentence.
        ("invalid password: hunter2 for bob", "invalid password: [masked] for bob"),
        ("wrong secret: letmein", "wrong secret: [masked]"),
        # What a name hides keeps the kind of token that it is.
        (f"OPENAI_API_KEY=sk-{BODY}", "OPENAI_API_KEY=sk-a1B2…[masked]"),
        (f"Bearer ghp_{BODY}", "Bearer ghp_a1B2…[masked]"),
        # Cut off before its end, as texts of errors are.
        ("-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n" + "B" * 20, "-----BEGIN…[masked]"),
        (
            '{"private_key": "-----BEGIN PRIVATE KEY-----\\n' + "A" * 64 + "\\n",
            '{"private_key": "-----BEGIN…[masked]\\n',
        ),
    ],
)
def test_what_is_given_to_the_name_of_a_secret_is_hidden(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://u:p@h/db", "postgres://u:[masked]@h/db"),
        ("postgres://u:p@ss@h/db", "postgres://u:[masked]@h/db"),
        ("postgres://u:p/ss@h/db", "postgres://u:[masked]@h/db"),
        ("redis://:abc@h:1", "redis://:[masked]@h:1"),
        ("https://x-access-token:abc@github.com/a", "https://x-access-token:[masked]@github.com/a"),
        (f"https://ghp_{BODY}@github.com/a", "https://ghp_a1B2…[masked]@github.com/a"),
        (f"https://sk_live_{BODY}:@api/", "https://sk_live_a1B2…[masked]:@api/"),
        ("https://deadbeef1234@h/", "https://[masked]@h/"),
    ],
)
def test_user_info_of_urls_is_hidden(url: str, shown: str) -> None:
    assert mask(url) == shown
    assert mask(f"cannot open {url}, nor {url}") == f"cannot open {shown}, nor {shown}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "token: expected string",
        "token: missing",
        "Unexpected token: '<' at line 1",
        "task-1234567, risk-0123456789abcdef0123 and disk-0123456789abcdef",
        "class sk-toggleable__content-estimator, sk-container-id-1",
        "pypi-attestations-documentation",
        "password: must be at least 8 characters",
        '{"password": ["This field is required."]}',
        '{"password": "This field is required."}',
        "The secret: be kind. A key: value pair. Passwords and tokens expire.",
        "token=None, password=null, secret='', api_key=<your key>, token=***, password=...",
        "password=${DB_PASSWORD} token=$TOKEN secret={{ secret }} passwd=%s",
        "token = lexer.next_token()",
        "os.environ['API_KEY']; api_key=os.environ['X']",
        "max_tokens=4096 token_count=12 tokens: 99 token=5",
        '{"nextPageToken": "CAUQAA", "page_token": "abc1234"}',
        "PWD=/root OLDPWD=/home/u",
        "Bearer authentication is required; basic authentication is not",
        "Authorization: required",
        "usage: x --token TOKEN; use --password to set one",
        "ssh://git@github.com/a https://h:8080/@scope/x https://h/?mail=a@b.c mail a@b.c",
        "postgres://user:${PASSWORD}@h/db",
        "expected -----BEGIN PRIVATE KEY----- here",
        "12:30:45 2024-01-01T00:00:00Z 1234567890:short",
        "npm_config_registry hf_hub_download github_pat_ AKIA key-value",
    ],
)
def test_prose_and_code_about_credentials_stay_the_very_same_object(text: str) -> None:
    assert mask(text) is text


def test_several_credentials_in_one_message_are_all_hidden() -> None:
    text = (
        f"GET https://u:hunter2@h/?token=abcdef failed: Bearer {BODY} refused, AKIAIOSFODNN7EXAMPLE"
        f' and sk-{BODY} too; body {{"password": "pass word"}}\n{PEM.format("A" * 60)} end'
    )
    masked = mask(text)
    for secret in ("hunter2", "abcdef", BODY[4:], "FODNN7", "pass word", "AAAA"):
        assert secret not in masked
    assert masked.count("[masked]") == 7
    assert masked.endswith(" end")


PIECES = st.sampled_from(
    [
        *("password=", '"token": "', "api_key: ", "secret => '", "Authorization: Bearer ", "pwd="),
        *("Bearer ", "basic ", "://", "@", "user:", "sk-", "ghp_", "eyJ", "AKIA", "AKIAIOSFODNN7"),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\n", " ", '"', "'", "\\"),
        *("…", "[masked]", "[", "]", "hunter2", BODY, HEX, "123456:", ",", ";", ".", "=", ":", "&"),
        *("Cookie: ", "?sig=", "<password>", "<", "missing", "none", ")", "a", "1", "$", "SG."),
        *("hooks.slack.com/services/", "xoxb-", "dXNlcjpwYXNz", "Digest ", "page_", "\\n"),
        *("…[masked]", "--token "),
    ]
)
HOSTILE = st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join)


@given(HOSTILE)
def test_masking_a_masked_text_changes_nothing(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@given(HOSTILE, st.sampled_from([f"sk-{BODY}", f"ghp_{BODY}", f"xoxb-{BODY}"]), HOSTILE)
def test_a_token_is_hidden_whatever_stands_around_it(before: str, token: str, after: str) -> None:
    assert BODY[8:] not in mask(f"{before.replace(BODY, '')} {token} {after.replace(BODY, '')}")


@pytest.mark.parametrize(
    "piece",
    [
        *("token='", "token='a(", 'token: "', 'token=\\"{', "token=[", "token:", "token: a", "://"),
        *("token=,a", "password: ", "://a:b/", "://a@", "-----BEGIN PRIVATE KEY-----", "-eyJ"),
        *("eyJaaaaaaaa.", "cookie:a=b;", "--token ", "-", "<password>", "?key=", "a:", "-sk-a"),
    ],
)
def test_no_text_makes_a_pattern_search_without_end(piece: str) -> None:
    """Were the work to grow with the square of the length, this would take hours."""
    size = 100_000
    text = (piece * size)[:size]
    assert len(mask(text + " sk-" + BODY)) <= 3 * size
