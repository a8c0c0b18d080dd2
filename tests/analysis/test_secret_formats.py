"""Secrets are known by their form; a public detector, `detect-secrets`, is the judge of what is left."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yohaku.analysis.secret_formats import NAMES, hide_formats, open_secret, placeholder

detectors = pytest.importorskip("detect_secrets.plugins", reason="pip install detect-secrets")

ALNUM, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def letters(alphabet: str, least: int, most: int = 0) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


def jwt(claims: dict[str, str]) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, claims, "signature-of-the-token")
    return ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts)


def pem(kind: str, body: str) -> str:
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


SECRETS = {
    "AWS key": letters(UPPER, 16).map("AKIA{}".format),
    "AWS secret key": letters(ALNUM + "/+", 40).map('aws_secret_access_key = "{}"'.format),
    "GitHub token": st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]).flatmap(
        lambda head: letters(ALNUM, 36).map(head.__add__)
    ),
    "fine GitHub token": letters(ALNUM + "_", 22, 82).map("github_pat_{}".format),
    "OpenAI key": st.tuples(letters(ALNUM, 20), letters(ALNUM, 20)).map(lambda two: f"sk-{two[0]}T3BlbkFJ{two[1]}"),
    "OpenAI project key": letters(ALNUM + "-_", 40, 120).map("sk-proj-{}".format),
    "Anthropic key": letters(ALNUM + "-_", 80, 95).map("sk-ant-api03-{}".format),
    "Slack token": st.tuples(letters("0123456789", 12), letters(ALNUM, 24)).map(lambda two: f"xoxb-{two[0]}-{two[1]}"),
    "Slack webhook": st.tuples(letters(UPPER, 8), letters(UPPER, 8), letters(ALNUM, 24)).map(
        lambda three: "https://hooks.slack.com/services/T{}/B{}/{}".format(*three)
    ),
    "private key": st.tuples(
        st.sampled_from(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY",
                         "PGP PRIVATE KEY BLOCK"]),
        letters(ALNUM + "+/", 128, 1600),
    ).map(lambda two: pem(*two)),
    "JWT": st.fixed_dictionaries({"sub": letters(ALNUM, 4, 40)}).map(jwt),
    "Stripe key": letters(ALNUM, 24).map("sk_live_{}".format),
    "Google key": letters(ALNUM + "-_", 35).map("AIza{}".format),
    "password": st.tuples(letters(string.ascii_lowercase, 3, 9), letters(ALNUM + "-_~%", 9, 30)).map(
        lambda two: f"postgres://{two[0]}:{two[1]}@db.example.com/app"
    ),
    "GitLab token": letters(ALNUM + "-_", 20).map("glpat-{}".format),
    "npm token": letters(ALNUM, 36).map("//registry.npmjs.org/:_authToken=npm_{}".format),
    "PyPI token": letters(ALNUM + "-_", 70, 90).map("pypi-AgEIcHlwaS5vcmc{}".format),
    "SendGrid key": st.tuples(letters(ALNUM, 22), letters(ALNUM, 43)).map(lambda two: f"SG.{two[0]}.{two[1]}"),
    "Azure key": letters(ALNUM + "+/", 86).map("AccountKey={}==".format),
    "Telegram token": letters(ALNUM + "-_", 33).map("110201543:AA{}".format),
    "Twilio key": letters(HEX, 32).map("SK{}".format),
    "Square token": letters(ALNUM + "-_", 43).map("sq0csp-{}".format),
    "Mailchimp key": letters(HEX, 32).map("{}-us12".format),
}  # fmt: skip
PLACES = ["{}", "key: {}", 'x = "{}"', "export KEY={}", "log line with {} in it", '{{"value": "{}", "other": 1}}',
          "12\t{}", "12: {}", "+{}", "curl -H 'X-Key: {}' https://example.com", "<a>{}</a>"]  # fmt: skip
JUDGES = ["aws.AWSKeyDetector", "github_token.GitHubTokenDetector", "openai.OpenAIDetector", "slack.SlackDetector",
          "private_key.PrivateKeyDetector", "jwt.JwtTokenDetector", "stripe.StripeDetector",
          "basic_auth.BasicAuthDetector", "gitlab_token.GitLabTokenDetector", "npm.NpmDetector",
          "pypi_token.PypiTokenDetector", "sendgrid.SendGridDetector", "azure_storage_key.AzureStorageKeyDetector",
          "telegram_token.TelegramBotTokenDetector", "twilio.TwilioKeyDetector", "square_oauth.SquareOAuthDetector",
          "mailchimp.MailchimpDetector"]  # fmt: skip
UNKNOWN_TO_THE_JUDGES = {"fine GitHub token", "OpenAI project key", "Anthropic key", "Google key"}


def judge(text: str) -> Iterator[str]:
    from importlib import import_module

    for name in JUDGES:
        module, _, detector = name.partition(".")
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), detector)()
        for line in text.split("\n"):
            yield from (f"{detector}: {found}" for found in plugin.analyze_string(line))


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=15)
@given(data=st.data())
def test_nothing_is_left_that_a_public_detector_finds(kind: str, place: str, data: st.DataObject) -> None:
    secret = data.draw(SECRETS[kind])
    text = place.format(secret)
    if kind not in UNKNOWN_TO_THE_JUDGES and not (kind == "Telegram token" and place != "{}"):
        assert list(judge(text)), "the judge finds nothing, so this test shows nothing"
    hidden = hide_formats(text)
    assert list(judge(hidden)) == []
    assert secret not in hidden and " hidden]" in hidden
    assert hide_formats(hidden) == hidden


@pytest.mark.parametrize(
    "shown",
    [
        "postgres://user:[password hidden]@db.example.com/app",
        "Authorization: Bearer [authorization hidden]",
        'aws_secret_access_key = "[AWS secret key hidden]"',
    ],
)
def test_what_is_around_a_secret_stays(shown: str) -> None:
    name = shown[shown.index("[") + 1 : shown.index(" hidden]")]
    assert name in NAMES
    value = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" if "AWS" in shown else "hunter2-Hunter2-hunter2"
    assert hide_formats(shown.replace(placeholder(name), value)) == shown


def test_a_key_is_hidden_however_its_lines_are_written() -> None:
    whole = pem("RSA PRIVATE KEY", "MIIEpAIBAAKCAQEA" * 40)
    body = whole.split("\n")[1]
    numbered = "\n".join(f"{at}\t{line}" for at, line in enumerate(whole.split("\n"), 1))
    changed = "\n".join(f"+{line}" for line in whole.split("\n"))
    ways = [whole, numbered, changed, whole.replace("\n", "\\n"), whole.replace("\n", "\r\n")]
    ways += [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
    for way in ways:
        assert body[:32] not in hide_formats(f"before\n{way}\nafter"), way[:80]
        assert hide_formats(f"before\n{way}\nafter").startswith("before\n")
    assert hide_formats(f"before\n{whole}\nafter") == "before\n[private key hidden]\nafter"


@pytest.mark.parametrize(
    "text",
    [
        "a task-force-of-twenty-people and disk-encryption-setup-of-2024",
        '<div class="sk-fading-circle sk-circle sk-cube-grid-container-2">',
        "https://example.com:8080/path@x and git@github.com:me/it.git and ssh://git@host:22/x",
        "postgres://user:password@localhost/db and redis://:$PASSWORD@host and http://me:${PW}@x and mongodb://u:<pw>@h",
        'if "-----BEGIN RSA PRIVATE KEY-----" in text:\n    raise ValueError\nEND = "-----END RSA PRIVATE KEY-----"\n',
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12 of aws-sdk: key rotation",
        "key = settings.key; token = get_token(); password = input()",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "npm_config_registry=https://registry.npmjs.org/ hf_hub_download(repo) pypi-agent glpat-",
        "eyJ is how a JWT begins, and AKIA how a key of AWS",
        "std::vector<int>:AAAA 12:30:45 user@example.com",
    ],
)
def test_everyday_text_is_left_alone(text: str) -> None:
    assert hide_formats(text) == text


@settings(max_examples=100)
@given(data=st.data(), kind=st.sampled_from(sorted(SECRETS)), place=st.sampled_from(PLACES))
def test_what_may_go_on_after_the_end_is_known(data: st.DataObject, kind: str, place: str) -> None:
    """Law: wherever a text is torn, the part before `open_secret` ends before the secret does not begin."""
    text = f"some words\n{place.format(data.draw(SECRETS[kind]))}\nand more"
    at = data.draw(st.integers(0, len(text)))
    until = open_secret(text[:at])
    assert hide_formats(hide_formats(text[:until]) + text[until:]) == hide_formats(text)


def test_pathological_texts_are_searched_at_once() -> None:
    for piece in ("sk-", "eyJ", "://", "://a:", "-----BEGIN PRIVATE KEY-----\n", "aws key ", "Authorization: Bearer ",
                  "-----END PRIVATE KEY-----", "ghp_", "A" * 64 + "\n", "@", "https://", "SG.", "xoxb-", "-us1",
                  "sk-a", "eyJaaaaaaaaaaa."):  # fmt: skip
        text = piece * (300_000 // len(piece))
        hide_formats(text)
        open_secret(text)
        open_secret(text, paused=True)
