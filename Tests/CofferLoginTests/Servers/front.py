"""What the servers of these tests share: the way in, which can fail as networks and broken servers do, and counts what reaches the server.

/control is the test's own: it makes faults, and plays the person who logs in. Everything else goes to the server.
"""
import io, json, os, sys, threading, time
from urllib.parse import parse_qsl
from werkzeug.serving import make_server

COUNTS = {"token": 0, "refresh": 0, "revoke": 0, "device": 0}
FAULT = {"status": 0, "body": "", "copies": 1, "times": 0, "drip": 0, "to": "", "at": ""}
# The next answer to a path that ends with "at" waits until it is let go, when the server has done its work.
HOLD = {"at": ""}
let_go = threading.Event()
lock = threading.Lock()


def fault(start_response):
    """Answers in the server's place: with so many copies of a body (0: without an end), byte by byte, or with another address."""
    headers = [("Content-Type", "application/json"), ("Connection", "close")]
    if FAULT["to"]: headers.append(("Location", FAULT["to"]))
    start_response(f"{FAULT['status']} Fault", headers)
    body, copies, pause = FAULT["body"].encode(), FAULT["copies"], FAULT["drip"]
    if pause: return (time.sleep(pause) or body[at:at + 1] for at in range(len(body)))
    return (body for _ in iter(int, 1)) if copies == 0 else (body for _ in range(copies))


def count(environ):
    """Counts what is asked by the form that asks it, and hands the form on."""
    size = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(size)
    environ["wsgi.input"] = io.BytesIO(body)
    form, path = dict(parse_qsl(body.decode("latin-1"))), environ["PATH_INFO"]
    with lock:
        if path.endswith("/token"):
            COUNTS["token"] += 1
            if form.get("grant_type") == "refresh_token": COUNTS["refresh"] += 1
        elif path.endswith("/revoke"): COUNTS["revoke"] += 1
        elif environ["REQUEST_METHOD"] == "POST" and "device" in path: COUNTS["device"] += 1
    return form


def serve(begin):
    """Serves until standard input ends. `begin` gets the address, and returns an application and what /control/WORD does with its form.

    Writes the port to the file that is the first argument once it listens, on 127.0.0.1 alone.
    """
    parts = {}

    def front(environ, start_response):
        path = environ["PATH_INFO"]
        if path.startswith("/control/"):
            word = path.removeprefix("/control/")
            form = dict(parse_qsl(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode(), keep_blank_values=True))
            if word == "fault":
                FAULT.update({"copies": 1, "drip": 0, "to": "", "at": "", "body": ""})
                FAULT.update({name: value if name in ("body", "to", "at") else float(value) if name == "drip" else int(value)
                              for name, value in form.items()})
            elif word == "hold": HOLD["at"] = form["at"]
            elif word == "go": let_go.set()
            elif word != "counts": parts["control"](word, form)
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(COUNTS).encode()]
        if FAULT["times"] and path.endswith(FAULT["at"]):
            FAULT["times"] -= 1
            return fault(start_response)
        answer = parts["app"](environ, start_response)
        if HOLD["at"] and path.endswith(HOLD["at"]):
            HOLD["at"] = ""
            let_go.wait()
        return answer

    httpd = make_server("127.0.0.1", 0, front, threaded=True)
    parts["app"], parts["control"] = begin(f"http://127.0.0.1:{httpd.server_port}")
    file = sys.argv[1]
    with open(file + ".new", "w") as new: new.write(str(httpd.server_port))
    os.rename(file + ".new", file)
    import logging
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    sys.stdin.read()


def serve_application(app, control, named):
    """Serves `app`, a server in this process, whose address `named` gets, and counts what is asked of it."""
    def counted(environ, start_response):
        count(environ)
        return app(environ, start_response)

    def begin(issuer):
        named(issuer)
        return counted, control

    serve(begin)
