"""What the flagship needs beyond headrace is an extra, and its absence is said in words."""

from __future__ import annotations

import sys

import pytest

from headrace.errors import SetupError
from headrace_fraud import commands
from headrace_fraud.asking import postgres
from headrace_fraud.deciding import model


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_the_demo_without_its_extra_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(SetupError) as error:
        commands.demo()
    assert error.value.what == f"the demo's page needs the package {package}"
    assert error.value.fix == "pip install 'headrace[fraud]'"


def test_the_demo_with_a_model_says_what_to_install_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "find_spec", lambda _: None)
    with pytest.raises(SetupError) as error:
        commands.demo(model=True)
    assert error.value.what == "the model needs the package river"
    assert error.value.fix == "pip install 'headrace[fraud,learning]'"


def test_an_address_of_postgres_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SetupError) as error:
        postgres.driver()
    assert error.value.fix == "pip install 'headrace[fraud]'"
