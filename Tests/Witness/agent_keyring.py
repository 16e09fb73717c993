"""A backend of keyring over Coffer's agent, and keyring's own tests of it: `pytest agent_keyring.py`."""

import urllib.parse

from agent import Agent, AgentError
from keyring import backend, credentials, errors
from keyring.testing.backend import BackendBasicTests


def quoted(text):
    """A name has no control characters."""
    return "".join(c if c.isprintable() and c != "%" else urllib.parse.quote(c) for c in text)


class AgentKeyring(backend.KeyringBackend):
    priority = 6

    def __init__(self):
        super().__init__()
        self.agent = Agent()

    def get_password(self, service, username):
        form = self.agent.ask("get", service=quoted(service), account=quoted(username), field="")["form"]
        return None if form is None else bytes.fromhex(form["value"]).decode()

    def set_password(self, service, username, password):
        getattr(self, "_validate_username", str)(username)
        name = {"service": quoted(service), "account": quoted(username), "field": ""}
        metadata = {"label": "", "contentType": "text/plain", "expires": None, "attributes": []}
        form = {"metadata": metadata, "value": password.encode().hex()}
        self.agent.ask("apply", changes=[{"type": 1, "name": name, "condition": 0, "form": form, "kept": None}])

    def delete_password(self, service, username):
        name = {"service": quoted(service), "account": quoted(username), "field": ""}
        if not self.agent.ask("delete", **name, condition=0, until=None)["found"]:
            raise errors.PasswordDeleteError("there is no such password")

    def get_credential(self, service, username):
        if username is None:
            accounts = self.agent.ask("names", service=quoted(service), beginning="")["names"]
            username = urllib.parse.unquote(accounts[0]) if accounts else None
        password = None if username is None else self.get_password(service, username)
        return None if password is None else credentials.SimpleCredential(username, password)


class TestAgentKeyring(BackendBasicTests):
    def init_keyring(self):
        return AgentKeyring()

    def test_a_locked_agent_is_an_error(self):
        keyring = AgentKeyring()
        keyring.agent.vault = "/nowhere/vault.sqlite"
        try:
            keyring.get_password("service", "user")
        except AgentError as failure:
            assert failure.kind == "locked"
        else:
            raise AssertionError("a locked vault reads as absence")
