"""A service that says which resource several Python programs would take its path for."""
import json
import posixpath
from http.server import SimpleHTTPRequestHandler
from socketserver import ThreadingMixIn
from urllib.parse import unquote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Handler(WSGIRequestHandler):
    def get_environ(self):
        files = SimpleHTTPRequestHandler.__new__(SimpleHTTPRequestHandler)
        files.directory = "/"
        return {**super().get_environ(), "raw": self.path, "file": files.translate_path(self.path)}

    def log_message(self, *_):
        pass


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


def split(path):
    return path.split("/")[1:]


def app(environ, start_response):
    raw, info = environ["raw"].split("?")[0], environ["PATH_INFO"]
    readings = {
        "python: not decoded": split(raw),
        "python: files of http.server": split(environ["file"]),
        "python: WSGI": split(info),
        "python: WSGI, normalised": split(posixpath.normpath(info)),
        "python: WSGI, decoded twice": split(posixpath.normpath(unquote(info))),
        "python: without parameters": split(posixpath.normpath("/".join(s.split(";")[0] for s in info.split("/")))),
    }
    body = json.dumps(readings).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


server = make_server("127.0.0.1", 0, app, Server, Handler)
print(server.server_port, flush=True)
server.serve_forever()
