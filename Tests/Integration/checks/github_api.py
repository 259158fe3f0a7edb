"""A stand-in for the part of GitHub's API about comments: https://docs.github.com/en/rest/issues/comments."""

import http.server
import json
import re
import threading
import urllib.parse

BOT = {"login": "github-actions[bot]", "type": "Bot"}


class API(http.server.ThreadingHTTPServer):
    """Serves the comments of pull request 7 of octo/app, for a token that may write them unless `is_fork`."""

    TOKEN = "ghs_secret"

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments, self.requests, self.is_fork = [], [], False
        # An answer that replaces all others: the status, and the text.
        self.answer = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, body, user):
        self.comments.append({"id": 5_000_000_000 + len(self.comments), "body": body, "user": user})
        return self.comments[-1]

    def of_bot(self):
        return [comment for comment in self.comments if comment["user"] == BOT]

    def written(self):
        """The requests that write since the last call."""
        found = [(method, path) for method, path in self.requests if method != "GET"]
        self.requests.clear()
        return found


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def reply(self, status, value, headers=()):
        content = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (*headers, ("Content-Type", "application/json"), ("Content-Length", str(len(content)))):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    def work(self):
        api = self.server
        address = urllib.parse.urlsplit(self.path)
        api.requests.append((self.command, address.path))
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        if api.answer:
            return self.reply(*api.answer)
        if self.headers["Authorization"] != f"Bearer {api.TOKEN}":
            return self.reply(401, {"message": "Bad credentials"})
        if self.headers["Accept"] != "application/vnd.github+json" or self.headers["X-GitHub-Api-Version"] != "2022-11-28":
            return self.reply(415, {"message": "Unsupported"})
        if self.command == "GET" and address.path == "/repos/octo/app/issues/7/comments":
            return self.list(dict(urllib.parse.parse_qsl(address.query)), address.path)
        if api.is_fork:
            return self.reply(403, {"message": "Resource not accessible by integration"})
        value = json.loads(sent)
        if list(value) != ["body"] or not 0 < len(value["body"]) <= 65536:
            return self.reply(422, {"message": "Validation Failed"})
        if self.command == "POST" and address.path == "/repos/octo/app/issues/7/comments":
            return self.reply(201, api.add(value["body"], BOT))
        found = re.fullmatch(r"/repos/octo/app/issues/comments/(\d+)", address.path)
        for comment in api.comments:
            if self.command == "PATCH" and found and comment["id"] == int(found[1]):
                comment["body"] = value["body"]
                return self.reply(200, comment)
        return self.reply(404, {"message": "Not Found"})

    def list(self, query, path):
        size, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        end = page * size
        links = [f'<{self.server.url}{path}?per_page={size}&page=1>; rel="first"']
        if end < len(self.server.comments):
            links.insert(0, f'<{self.server.url}{path}?per_page={size}&page={page + 1}>; rel="next"')
        self.reply(200, self.server.comments[end - size:end], [("Link", ", ".join(links))])

    do_GET = do_POST = do_PATCH = work
