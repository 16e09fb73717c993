"""An OAuth 2 server made with oauthlib, for the tests of logins: oauthlib_server.py PORT-FILE

oauthlib 3.2 has no device flow for servers, so this one has none.
"""
import os, secrets, time

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
from flask import Flask, Response, jsonify, request
from oauthlib.oauth2 import RequestValidator, Server
import front

LIFE = {"access": 3600}
SCOPES = {"read", "write"}
CLIENTS = {"program": None, "service": "a-secret_of.the~service"}
CODES, TOKENS = {}, []


class Client:
    def __init__(self, name): self.client_id = name


def end(family):
    for token in TOKENS:
        if token["family"] == family: token["revoked"] = True


class Validator(RequestValidator):
    # MARK: The client

    def authenticate_client(self, request, *arguments, **named):
        given = request.headers.get("Authorization", "")
        if given.startswith("Basic "):
            import base64
            from urllib.parse import unquote
            name, secret = (unquote(part) for part in base64.b64decode(given[6:]).decode().split(":", 1))
        else: name, secret = request.client_id, request.client_secret
        if not CLIENTS.get(name) or not secrets.compare_digest(CLIENTS[name], secret or ""): return False
        request.client = Client(name)
        return True

    def client_authentication_required(self, request, *arguments, **named):
        return CLIENTS.get(request.client_id, "unknown") is not None

    def authenticate_client_id(self, client_id, request, *arguments, **named):
        if client_id not in CLIENTS or CLIENTS[client_id] is not None: return False
        request.client = Client(client_id)
        return True

    def validate_client_id(self, client_id, request, *arguments, **named): return client_id in CLIENTS
    def validate_grant_type(self, client_id, grant_type, client, request, *arguments, **named):
        return grant_type in ("authorization_code", "refresh_token") or client.client_id == "service"
    def validate_response_type(self, client_id, response_type, client, request, *arguments, **named): return response_type == "code"

    # MARK: The request

    # Any port of this machine (RFC 8252, 7.3).
    def validate_redirect_uri(self, client_id, uri, request, *arguments, **named): return uri.startswith("http://127.0.0.1:")
    def get_default_redirect_uri(self, client_id, request, *arguments, **named): return None
    def get_default_scopes(self, client_id, request, *arguments, **named): return ["read"]
    def validate_scopes(self, client_id, scopes, client, request, *arguments, **named): return set(scopes) <= SCOPES
    def is_pkce_required(self, client_id, request): return True

    # MARK: The code

    def save_authorization_code(self, client_id, code, request, *arguments, **named):
        CODES[code["code"]] = {"client": client_id, "redirect_uri": request.redirect_uri, "scopes": request.scopes,
                               "challenge": request.code_challenge, "method": request.code_challenge_method}

    def validate_code(self, client_id, code, client, request, *arguments, **named):
        found = CODES.get(code)
        if found is None or found["client"] != client_id: return False
        request.user, request.scopes = "ada", found["scopes"]
        return True

    def confirm_redirect_uri(self, client_id, code, redirect_uri, client, request, *arguments, **named):
        return CODES[code]["redirect_uri"] == redirect_uri

    def get_code_challenge(self, code, request): return CODES[code]["challenge"]
    def get_code_challenge_method(self, code, request): return CODES[code]["method"]
    def invalidate_authorization_code(self, client_id, code, request, *arguments, **named): CODES.pop(code, None)

    # MARK: The tokens

    def save_bearer_token(self, token, request, *arguments, **named):
        old = getattr(request, "old", None)
        if old: old["revoked"] = True
        token["expires_in"] = LIFE["access"]
        TOKENS.append({**token, "client": request.client.client_id, "at": time.time(), "revoked": False,
                       "family": old["family"] if old else secrets.token_hex(8), "scopes": request.scopes})

    def validate_refresh_token(self, refresh_token, client, request, *arguments, **named):
        for token in TOKENS:
            if token.get("refresh_token") != refresh_token or token["client"] != client.client_id: continue
            # Used before: whoever has it may have stolen it, and all that came of it ends (RFC 9700, 4.14.2).
            if token["revoked"]: end(token["family"])
            else:
                request.user, request.old = "ada", token
                return True
        return False

    def get_original_scopes(self, refresh_token, request, *arguments, **named): return request.old["scopes"]
    def rotate_refresh_token(self, request): return True

    def revoke_token(self, token, token_type_hint, request, *arguments, **named):
        for other in TOKENS:
            if token in (other.get("refresh_token"), other["access_token"]): end(other["family"])


app = Flask(__name__)
server = Server(Validator(), token_expires_in=lambda request: LIFE["access"])


def asked(): return request.url, request.method, request.form.to_dict() or None, dict(request.headers)


def answered(headers, body, status): return Response(body or "", status, headers)


@app.get("/.well-known/oauth-authorization-server")
def document():
    return jsonify(issuer=ISSUER, token_endpoint=f"{ISSUER}/token", authorization_endpoint=f"{ISSUER}/authorize",
                   revocation_endpoint=f"{ISSUER}/revoke", token_endpoint_auth_methods_supported=["none", "client_secret_basic"],
                   response_types_supported=["code"])


@app.post("/token")
def token():
    with front.lock: return answered(*server.create_token_response(*asked()))


@app.post("/revoke")
def revoke():
    with front.lock: return answered(*server.create_revocation_response(*asked()))


# The person is logged in at the server, and allows whatever is asked.
@app.get("/authorize")
def authorize():
    url, method, body, headers = asked()
    scopes, credentials = server.validate_authorization_request(url, method, body, headers)
    return answered(*server.create_authorization_response(url, method, body, headers, scopes, credentials))


# Who shows an access token is told whether it is good.
@app.get("/me")
def me():
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    good = any(t["access_token"] == given and not t["revoked"] and t["at"] + t["expires_in"] > time.time() for t in TOKENS)
    return ("yes", 200) if good else ("no", 401)


def control(word, form):
    if word == "life": LIFE["access"] = int(form["seconds"])


front.serve_application(app, control, lambda issuer: globals().update(ISSUER=issuer))
