"""WsgiDAV or moto's S3 for rclone: stores.py webdav FOLDER, or stores.py s3. Prints its port, and ends with its input."""

import os
import sys
import threading

from cheroot import wsgi

if sys.argv[1] == "webdav":
    from wsgidav.wsgidav_app import WsgiDAVApp

    app = WsgiDAVApp({
        "provider_mapping": {"/": sys.argv[2]}, "simple_dc": {"user_mapping": {"*": True}}, "verbose": 0,
        "logging": {"enable": False, "enable_loggers": []},
    })
else:
    from moto.server import DomainDispatcherApplication, create_backend_app

    app = DomainDispatcherApplication(create_backend_app)

server = wsgi.Server(("127.0.0.1", 0), app)
server.prepare()
print(server.bind_addr[1], flush=True)
threading.Thread(target=server.serve, daemon=True).start()
sys.stdin.read()
# Its workers would go on.
os._exit(0)
