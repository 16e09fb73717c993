"""Glewlwyd, Debian's OAuth 2 and OpenID Connect server, for the tests of logins: glewlwyd_server.py PORT-FILE

It is set up as its documentation says: a database by its own script, and through its API the plug-in, the scopes, the clients and a user,
who is logged in. What has no API (a code that ends) is done in its database.
"""
import ctypes, gzip, http.client, json, os, socket, sqlite3, subprocess, sys, time
from urllib.parse import parse_qsl
import front

PERSON = {"username": "ada", "password": "a password of hers"}
SECRET = "a-secret_of.the~service"
LIBRARIES = "/usr/lib/glewlwyd"
# An address of its own, of this process's number: it takes a port, not 0 for any, and a free port of 127.0.0.1 may be another's by then.
ADDRESS = f"127.{64 | os.getpid() >> 16 & 63}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"

CONFIG = """port={port}
bind_address="{address}"
external_url="{issuer}"
login_url="login.html"
api_prefix="api"
log_mode="file"
log_level="WARNING"
log_file="{folder}/log"
session_expiration=86400
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="{libraries}/user"
client_module_path="{libraries}/client"
user_auth_scheme_module_path="{libraries}/scheme"
plugin_module_path="{libraries}/plugin"
hash_algorithm="SHA512"
database = {{ type="sqlite3" path="{folder}/database" }};
"""


def script():
    for path in ["/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3", "/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz"]:
        if os.path.exists(path): return (gzip.open if path.endswith(".gz") else open)(path, "rt").read()
    sys.exit("glewlwyd_server.py: the package has no script for its database")


class Glewlwyd:
    def __init__(self, issuer):
        self.issuer, self.folder = issuer, os.path.dirname(os.path.abspath(sys.argv[1]))
        self.database = sqlite3.connect(f"{self.folder}/database", check_same_thread=False, isolation_level=None)
        self.database.executescript(script())
        with socket.socket() as free:
            free.bind((ADDRESS, 0))
            self.port = free.getsockname()[1]
        with open(f"{self.folder}/config", "w") as file:
            file.write(CONFIG.format(address=ADDRESS, port=self.port, issuer=issuer, folder=self.folder, libraries=LIBRARIES))
        self.process = subprocess.Popen(["/usr/bin/glewlwyd", "-c", f"{self.folder}/config"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=self.dieTogether)
        for _ in range(600):
            try:
                socket.create_connection((ADDRESS, self.port)).close()
                break
            except OSError: time.sleep(0.05)
        self.setUp()

    @staticmethod
    def dieTogether():
        PR_SET_PDEATHSIG, SIGKILL = 1, 9
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)

    def ask(self, method, path, content=None, headers={}, cookie=None):
        """The status, the headers and the body that it answers with."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=60)
        headers = dict(headers)
        if isinstance(content, (dict, list)): content, headers["Content-Type"] = json.dumps(content), "application/json"
        if cookie: headers["Cookie"] = cookie
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()

    def must(self, *arguments, **named):
        status, headers, body = self.ask(*arguments, **named)
        if status != 200: sys.exit(f"glewlwyd_server.py: {arguments[:2]}: {status} {body.decode(errors='replace')}")
        return headers, body

    def session(self, username, password):
        headers, _ = self.must("POST", "/api/auth/", {"username": username, "password": password})
        return next(value for name, value in headers if name.lower() == "set-cookie").split(";")[0]

    def setUp(self):
        self.admin = self.session("admin", "password")
        key = subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout"], capture_output=True, text=True, check=True)
        public = subprocess.run(["openssl", "ec", "-pubout"], input=key.stdout, capture_output=True, text=True, check=True)
        private = subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt"], input=key.stdout, capture_output=True, text=True, check=True)
        for scope in ["read", "write"]:
            self.must("POST", "/api/scope/", {"name": scope, "display_name": scope, "password_required": False,
                                              "password_max_age": 0, "scheme": {}, "scheme_required": {}}, cookie=self.admin)
        self.plugin = {
            "module": "oidc", "name": "oidc", "display_name": "logins", "order_rank": 0, "readonly": False, "enabled": True,
            "parameters": {
                "iss": f"{self.issuer}/api/oidc", "jwt-type": "ecdsa", "jwt-key-size": "256", "key": private.stdout, "cert": public.stdout,
                "access-token-duration": 3600, "refresh-token-duration": 86400, "code-duration": 600, "refresh-token-rolling": False,
                "refresh-token-one-use": "always", "allow-non-oidc": True, "auth-type-code-enabled": True,
                "auth-type-code-revoke-replayed": True, "auth-type-client-enabled": True, "auth-type-device-enabled": True,
                "auth-type-refresh-enabled": True, "auth-type-password-enabled": False, "auth-type-token-enabled": False,
                "auth-type-implicit-enabled": False, "auth-type-none-enabled": False, "scope": [],
                "additional-parameters": [], "claims": [], "pkce-allowed": True, "pkce-method-plain-allowed": False,
                "pkce-required": True, "pkce-required-public-client": True, "introspection-revocation-allowed": True,
                "introspection-revocation-allow-target-client": True, "introspection-revocation-auth-scope": [],
                "device-authorization-expiration": 600, "device-authorization-interval": 1, "oauth-as-iss-id": True,
                "request-parameter-allow": False, "secret-type": "pairwise", "subject-type": "public"}}
        self.must("POST", "/api/mod/plugin/", self.plugin, cookie=self.admin)
        self.must("POST", "/api/user/", {**PERSON, "name": "Ada", "email": "", "enabled": True,
                                         "scope": ["read", "write", "openid", "g_profile"]}, cookie=self.admin)
        kinds = ["code", "refresh_token", "device_authorization", "client_credentials"]
        self.clients = {}
        for name, secret in [("program", None), ("service", SECRET)]:
            self.clients[name] = client = {"client_id": name, "name": name, "enabled": True, "confidential": secret is not None,
                      "redirect_uri": [], "authorization_type": kinds, "scope": ["read", "write"],
                      "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"] if secret else ["none"]}
            if secret: client["client_secret"] = secret
            self.must("POST", "/api/client/", client, cookie=self.admin)
        self.person = self.session(**PERSON)
        for name in ["program", "service"]:
            self.must("PUT", f"/api/auth/grant/{name}/", {"scope": "read write openid"}, cookie=self.person)

    # MARK: The way in

    def app(self, environ, start_response):
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        # Who shows an access token is told whether it is good.
        if path == "/me":
            status = self.ask("GET", "/api/oidc/userinfo", headers={"Authorization": environ.get("HTTP_AUTHORIZATION", "")})[0]
            start_response("200 OK" if status == 200 else "401 No", [("Content-Type", "text/plain")])
            return [b"yes" if status == 200 else b"no"]
        front.count(environ)
        body = environ["wsgi.input"].read()
        headers = {name[5:].replace("_", "-").title(): value for name, value in environ.items()
                   if name.startswith("HTTP_") and name not in ("HTTP_HOST", "HTTP_CONNECTION")}
        if environ.get("CONTENT_TYPE"): headers["Content-Type"] = environ["CONTENT_TYPE"]
        target = path + (f"?{query}" if query else "")
        # The person is logged in at the server, and presses "continue" on its page.
        cookie = self.person if path == "/api/oidc/auth" else None
        if cookie:
            self.register(dict(parse_qsl(query)))
            target += "&g_continue"
        status, answered, content = self.ask(environ["REQUEST_METHOD"], target, body, headers, cookie)
        kept = [(name, value) for name, value in answered if name.lower() in ("content-type", "location", "cache-control")]
        start_response(f"{status} Answer", kept)
        return [content]

    def register(self, asked):
        """Glewlwyd knows the addresses that are registered, with their ports; a program's port is another each time (RFC 8252, 7.3)."""
        client, address = self.clients.get(asked.get("client_id")), asked.get("redirect_uri", "")
        if client is None or not address.startswith("http://127.0.0.1:"): return
        client["redirect_uri"] = [address]
        self.must("PUT", f"/api/client/{client['client_id']}", client, cookie=self.admin)

    def control(self, word, form):
        if word == "allow": self.ask("GET", f"/api/oidc/device?code={form['code']}&g_continue", cookie=self.person)
        elif word == "end":
            self.database.execute("UPDATE gpo_device_authorization SET gpoda_expires_at = '2000-01-01 00:00:00'")
        elif word == "life":
            self.plugin["parameters"]["access-token-duration"] = int(form["seconds"])
            self.must("PUT", "/api/mod/plugin/oidc", self.plugin, cookie=self.admin)
            self.must("PUT", "/api/mod/plugin/oidc/reset/", cookie=self.admin)


def begin(issuer):
    server = Glewlwyd(issuer)
    return server.app, server.control


front.serve(begin)
