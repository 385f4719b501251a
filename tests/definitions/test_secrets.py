"""A secret is in the environment or in a file, never in the program and never in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.definitions import secrets
from headrace.errors import DefinitionError, JobError
from headrace.io.connectors import texts


@pytest.mark.parametrize(
    "name",
    [
        "kafka.ssl.key.password",
        "kafka.ssl.private.key.passphrase",
        "kafka.ssl.keystore.password",
        "kafka.sasl.jaas.config",
        "kafka.sasl.oauthbearer.client.credentials.client.secret",
        "kafka.ssl.keystore.key",
        "ssl.key.pem",
        "kafka.basic.auth.user.info",
    ],
)
def test_a_literal_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        secrets.refuse_literals({name: "hunter2"})
    assert name in refused.value.what
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["kafka.sasl.mechanism", "kafka.sasl.oauthbearer.token.endpoint.url", "kafka.ssl.truststore.location"])
def test_what_is_no_secret_may_be_written_out(name: str) -> None:
    secrets.refuse_literals({name: "anything"})


def test_references_are_resolved_and_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("from-a-file\n")
    monkeypatch.setenv("TEST_SECRET", "from-the-environment")
    options = {"a.password": f"file:{tmp_path / 'password'}", "b.password": "env:TEST_SECRET", "c": "plain"}
    secrets.refuse_literals(options)
    assert secrets.resolve(options) == {"a.password": "from-a-file", "b.password": "from-the-environment", "c": "plain"}
    assert secrets.hide("login with from-a-file failed; from-the-environment too") == "login with *** failed; *** too"


def test_a_url_is_no_reference_where_there_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("from-a-url")
    url = (tmp_path / "keys").as_uri()
    options = {"kafka.sasl.oauthbearer.jwks.endpoint.url": url, "kafka.ssl.key.password": url}
    assert list(secrets.resolve(options).values()) == [url, "from-a-url"]


@pytest.mark.parametrize(
    ("held", "text", "hidden"),
    [
        (["s3cret", "s3cret-too"], "s3cret-too and s3cret", "*** and ***"),
        (["-----BEGIN KEY-----\nMIIEvQ\n}\n-----END KEY-----"], "unreadable: MIIEvQ} in -----BEGIN KEY-----", "unreadable: ***} in ***"),
    ],
    ids=["the longest first", "each line of one that has many"],
)
def test_what_is_hidden(held: list[str], text: str, hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, secret in enumerate(held):
        monkeypatch.setenv(f"TEST_HIDDEN_{number}", secret)
        secrets.resolve({"kafka.ssl.key.password": f"env:TEST_HIDDEN_{number}"})
    assert secrets.hide(text) == hidden


@pytest.mark.parametrize(("reference", "fix"), [("env:NO_SUCH_SECRET", "export NO_SUCH_SECRET=…"), ("file:/no/such/file", "make the file")])
def test_a_reference_to_nothing_is_told(reference: str, fix: str) -> None:
    with pytest.raises(JobError) as refused:
        secrets.resolve({"kafka.ssl.key.password": reference})
    assert "kafka.ssl.key.password" in refused.value.what
    assert fix in refused.value.fix


def test_a_reference_to_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "keystore").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(JobError) as refused:
        secrets.resolve({"kafka.ssl.keystore.key": f"file:{tmp_path / 'keystore'}"})
    assert refused.value.what == f"option kafka.ssl.keystore.key refers to {tmp_path}/keystore, which is not text"


def test_an_option_that_is_no_text_is_refused_without_what_it_is() -> None:
    with pytest.raises(DefinitionError) as refused:
        texts({"kafka.ssl.key.password": b"hunter2"})  # type: ignore[dict-item]
    assert refused.value.what == "option kafka.ssl.key.password is of type bytes"
    assert "hunter2" not in str(refused.value)
