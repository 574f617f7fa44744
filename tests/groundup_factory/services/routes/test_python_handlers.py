"""Routes of Tornado and of http.server."""

from tests.groundup_factory.services.routes.declared import routes


def test_tornado_tables() -> None:
    """Pairs and URL specs, patterns with groups, bases in other files; a class that handles nothing is none."""
    assert routes(
        {
            "base.py": """
                import tornado.web
                class Base(tornado.web.RequestHandler):
                    def prepare(self): ...
                    def options(self): ...
            """,
            "main.py": """
                import tornado.ioloop
                import tornado.web
                from tornado.web import Application, url
                from base import Base

                class Users(Base):
                    def get(self): ...
                    async def post(self): ...

                class User(tornado.web.RequestHandler):
                    def get(self, number): ...
                    def delete(self, number): ...

                class Point:
                    def get(self): ...

                POINTS = [("/nowhere", Point)]

                def make_app():
                    handlers = [(r"/api/users/?", Users), url(r"/api/users/(?P<number>[0-9]+)", User)]
                    return Application(handlers + [(r"^/api/people/([^/]+)/name$", User, {"short": True})])
            """,
        }
    ) == [
        "DELETE /api/people/{}/name",
        "DELETE /api/users/{}",
        "GET /api/people/{}/name",
        "GET /api/users",
        "GET /api/users/{}",
        "OPTIONS /api/users",
        "POST /api/users",
    ]


def test_a_handler_of_the_standard_library() -> None:
    """Paths that its methods compare, by equality, membership, beginning, pattern or match, also in helpers."""
    assert routes(
        {
            "server.py": """
                import re
                from http.server import BaseHTTPRequestHandler, HTTPServer

                ITEM = re.compile(r"^/items/(\\w+)$")

                class Handler(BaseHTTPRequestHandler):
                    def do_GET(self):
                        path = self.path.split("?")[0]
                        if path == "/health" or path in ("/users", "/people"):
                            return self.well()
                        if re.fullmatch(r"/users/([0-9]+)", path):
                            return self.user()
                        if path != "/secret":
                            self.send_error(404)

                    def do_POST(self):
                        self._create()

                    def _create(self):
                        match self.path:
                            case "/users":
                                self.well()
                        if self.path.startswith("/tasks/") and self.path.endswith("/done"):
                            self.well()

                    def do_DELETE(self):
                        if self.path.startswith("/users/") or ITEM.match(self.path):
                            self.well()

                HTTPServer(("", 80), Handler).serve_forever()
            """
        }
    ) == [
        "DELETE /items/{}",
        "DELETE /users/{}",
        "GET /health",
        "GET /people",
        "GET /users",
        "GET /users/{}",
        "POST /tasks/{}/done",
        "POST /users",
    ]


def test_one_dispatcher_for_all_methods() -> None:
    """Where one method answers all, conditions beside and around a path say which method it is for."""
    assert routes(
        {
            "app.py": """
                import http.server

                class App(http.server.BaseHTTPRequestHandler):
                    def _answer(self):
                        if self.command == "GET" and self.path == "/a":
                            ...
                        elif self.command == "POST":
                            if self.path == "/b":
                                ...
                        elif self.path == "/c":
                            ...
                    do_GET = do_POST = _answer
            """
        }
    ) == ["GET /a", "GET /c", "POST /b", "POST /c"]


def test_a_client_that_compares_paths_declares_nothing() -> None:
    """Only handlers' classes do."""
    text = "class Client:\n    def do_GET(self):\n        if self.path == '/a':\n            pass\n"
    assert routes({"client.py": text}) == []


def test_each_word_of_a_group_of_words_is_a_path() -> None:
    """`(start|stop)` names two routes and no parameter; so many groups that no one could ask for all stay one."""
    many = "(a|b)" * 60
    assert routes(
        {
            "app.py": f"""
                import re
                from http.server import BaseHTTPRequestHandler

                class Handler(BaseHTTPRequestHandler):
                    def do_POST(self):
                        if re.match(r"^/jobs/([^/]+)/(?P<action>start|stop)$", self.path):
                            ...
                        if re.match(r"^/{many}$", self.path):
                            ...
            """
        }
    )[-2:] == ["POST /jobs/{}/start", "POST /jobs/{}/stop"]
