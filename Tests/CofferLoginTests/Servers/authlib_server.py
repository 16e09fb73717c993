"""An OAuth 2 server made with Authlib, for the tests of logins: authlib_server.py PORT-FILE

Besides the endpoints of the standards it has what front.py gives it.
"""
import os, secrets, time

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import grants, scope_to_list
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE, DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from flask import Flask, jsonify, request
import front

LIFE = {"access": 3600}
USER = {"id": 1}


class Client:
    def __init__(self, id, secret, methods, kinds):
        self.client_id, self.client_secret, self.methods, self.kinds = id, secret, methods, kinds

    def get_client_id(self): return self.client_id
    def get_default_redirect_uri(self): return None
    def get_allowed_scope(self, scope): return " ".join(s for s in scope_to_list(scope or "") if s in ("read", "write", "openid"))
    # Any port of this machine (RFC 8252, 7.3).
    def check_redirect_uri(self, uri): return uri.startswith("http://127.0.0.1:")
    def has_client_secret(self): return bool(self.client_secret)
    def check_client_secret(self, secret): return secrets.compare_digest(self.client_secret, secret)
    def check_endpoint_auth_method(self, method, endpoint): return method in self.methods
    def check_token_endpoint_auth_method(self, method): return method in self.methods
    def check_response_type(self, kind): return kind == "code"
    def check_grant_type(self, kind): return kind in self.kinds


CLIENTS = {
    "program": Client("program", "", ["none"], ["authorization_code", "refresh_token", DEVICE_CODE_GRANT_TYPE]),
    "service": Client("service", "a-secret_of.the~service", ["client_secret_basic", "client_secret_post"],
                      ["client_credentials", "authorization_code", "refresh_token", DEVICE_CODE_GRANT_TYPE]),
}
CODES, DEVICES, TOKENS = {}, {}, []


class Token(dict):
    def check_client(self, client): return self["client"] == client.client_id
    def get_scope(self): return self.get("scope")
    def get_expires_in(self): return self["expires_in"]
    def is_revoked(self): return self["revoked"]
    def is_expired(self): return self["at"] + self["expires_in"] < time.time()


class Code(dict):
    code_challenge = property(lambda self: self["code_challenge"])
    code_challenge_method = property(lambda self: self["code_challenge_method"])
    def get_redirect_uri(self): return self["redirect_uri"]
    def get_scope(self): return self["scope"]
    def get_nonce(self): return self["nonce"]
    def get_auth_time(self): return None


class OpenID(OpenIDCode):
    """An id token for whoever asks for the scope openid. Its signature is by a secret that clients do not know."""
    def exists_nonce(self, nonce, request): return False
    def get_jwt_config(self, grant): return {"key": "the server's own", "alg": "HS256", "iss": ISSUER, "exp": 3600}
    def generate_user_info(self, user, scope): return UserInfo(sub=str(user["id"]), name="Ada")


class AuthorizationCode(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    def save_authorization_code(self, code, request):
        CODES[code] = Code(code=code, client=request.client.client_id, redirect_uri=request.redirect_uri, scope=request.scope,
                           nonce=request.data.get("nonce"), code_challenge=request.data.get("code_challenge"),
                           code_challenge_method=request.data.get("code_challenge_method"))
    def query_authorization_code(self, code, client):
        found = CODES.get(code)
        return found if found and found["client"] == client.client_id else None
    def delete_authorization_code(self, code): CODES.pop(code["code"], None)
    def authenticate_user(self, code): return USER


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    INCLUDE_NEW_REFRESH_TOKEN = True
    def authenticate_refresh_token(self, text):
        for token in TOKENS:
            if token.get("refresh_token") != text: continue
            if not token["revoked"]: return token
            # Used before: whoever has it may have stolen it, and all that came of it ends (RFC 9700, 4.14.2).
            for other in TOKENS:
                if other["family"] == token["family"]: other["revoked"] = True
        return None
    def authenticate_user(self, token): return USER
    def revoke_old_credential(self, token): token["revoked"] = True


class Service(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]


class Device(DeviceCodeGrant):
    def query_device_credential(self, code): return DEVICES.get(code)
    def query_user_grant(self, user_code):
        answer = next((d["answer"] for d in DEVICES.values() if d["user_code"] == user_code), None)
        return None if answer is None else (USER, answer == "allow")
    def should_slow_down(self, credential): return False


class DeviceAuthorization(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    INTERVAL = 1
    def generate_device_code(self): return marked()
    def get_verification_uri(self): return f"{ISSUER}/device"
    def save_device_credential(self, client_id, scope, data):
        DEVICES[data["device_code"]] = DeviceCredentialDict(
            data, client_id=client_id, scope=scope, expires_at=time.time() + data["expires_in"], answer=None)


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    def query_token(self, text, hint):
        return next((t for t in TOKENS if text in (t.get("refresh_token"), t["access_token"])), None)
    def revoke_token(self, token, request):
        for other in TOKENS:
            if other["family"] == token["family"]: other["revoked"] = True


app = Flask(__name__)
# Each begins alike, so that a test can look for tokens where none may be.
def marked(*arguments, **named): return "coffer-test-token-Zk3vQ9sLw8Xy2Bn5Rt7U-" + secrets.token_urlsafe(24)


app.config["OAUTH2_ACCESS_TOKEN_GENERATOR"] = app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = marked
app.config["OAUTH2_TOKEN_EXPIRES_IN"] = {}


def save_token(token, request):
    credential = getattr(request, "credential", None)
    family = credential["family"] if isinstance(credential, Token) else secrets.token_hex(8)
    token["expires_in"] = LIFE["access"]
    TOKENS.append(Token(token, client=request.client.client_id, at=time.time(), revoked=False, family=family))


server = AuthorizationServer(app, query_client=CLIENTS.get, save_token=save_token)
server.register_grant(AuthorizationCode, [CodeChallenge(required=True), OpenID()])
server.register_grant(Refresh)
server.register_grant(Device)
server.register_grant(Service)
server.register_endpoint(DeviceAuthorization)
server.register_endpoint(Revocation)


@app.get("/.well-known/oauth-authorization-server")
def document():
    return jsonify(issuer=ISSUER, token_endpoint=f"{ISSUER}/token", authorization_endpoint=f"{ISSUER}/authorize",
                   device_authorization_endpoint=f"{ISSUER}/device/code", revocation_endpoint=f"{ISSUER}/revoke",
                   token_endpoint_auth_methods_supported=["none", "client_secret_basic"],
                   response_types_supported=["code"])


@app.post("/token")
def token():
    with front.lock: return server.create_token_response()


@app.post("/revoke")
def revoke():
    with front.lock: return server.create_endpoint_response("revocation")


@app.post("/device/code")
def device_code(): return server.create_endpoint_response("device_authorization")


# The person is logged in at the server, and allows whatever is asked.
@app.get("/authorize")
def authorize(): return server.create_authorization_response(grant_user=USER)


# Who shows an access token is told whether it is good.
@app.get("/me")
def me():
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    good = any(t["access_token"] == given and not t["revoked"] and not t.is_expired() for t in TOKENS)
    return ("yes", 200) if good else ("no", 401)


def control(word, form):
    if word in ("allow", "deny", "end"):
        for credential in DEVICES.values():
            if form.get("code", credential["user_code"]) != credential["user_code"]: continue
            if word == "end": credential["expires_at"] = 1  # Authlib takes 0 for a code that never ends.
            else: credential["answer"] = word
    elif word == "life": LIFE["access"] = int(form["seconds"])


front.serve_application(app, control, lambda issuer: globals().update(ISSUER=issuer))
