"""Routes of Flask, FastAPI and aiohttp."""

import pytest

from tests.groundup_factory.services.routes.declared import routes


def test_flask_applications_and_blueprints() -> None:
    """Rules, methods, converters, blueprints with either prefix, and class views."""
    assert routes(
        {
            "app/__init__.py": """
                from flask import Flask
                from .users import users
                from . import admin

                def create_app():
                    app = Flask(__name__)
                    app.register_blueprint(users, url_prefix="/api/v1")
                    app.register_blueprint(admin.bp)

                    @app.route("/")
                    def home(): ...

                    app.add_url_rule("/things", view_func=Things.as_view("things"))
                    return app

                from flask.views import MethodView

                class Things(MethodView):
                    def get(self): ...
                    def post(self): ...
            """,
            "app/users.py": """
                from flask import Blueprint
                users = Blueprint("users", __name__, url_prefix="/replaced")

                @users.route("/users/<int:user_id>", methods=["GET", "PUT"])
                def user(user_id): ...

                @users.post("/users")
                def create(): ...
            """,
            "app/admin.py": """
                from flask import Blueprint
                bp = Blueprint("admin", __name__, url_prefix="/admin")

                @bp.get("/files/<path:name>")
                def files(name): ...
            """,
        }
    ) == [
        "GET /",
        "GET /admin/files/{*}",
        "GET /api/v1/users/{}",
        "GET /things",
        "POST /api/v1/users",
        "POST /things",
        "PUT /api/v1/users/{}",
    ]


def test_flask_restful_and_namespaces() -> None:
    """Resources are routes by the methods that their classes define."""
    assert routes(
        {
            "app.py": """
                from flask import Flask
                from flask_restful import Api, Resource

                class Item(Resource):
                    def get(self, id): ...
                    def delete(self, id): ...

                app = Flask(__name__)
                api = Api(app, prefix="/v1")
                api.add_resource(Item, "/items/<id>", "/things/<id>")
            """
        }
    ) == ["DELETE /v1/items/{}", "DELETE /v1/things/{}", "GET /v1/items/{}", "GET /v1/things/{}"]


def test_fastapi_routers_with_every_prefix_on_the_way() -> None:
    """Prefixes of routers and of their inclusion add up, also through constants and nested routers."""
    assert routes(
        {
            "app/config.py": """
                class Settings:
                    API_PREFIX: str = "/api"
                settings = Settings()
            """,
            "app/main.py": """
                from fastapi import FastAPI
                from app.config import settings
                from app.routers import items, everything
                app = FastAPI()
                app.include_router(everything.router, prefix=f"{settings.API_PREFIX}/v1")

                @app.get("/health")
                async def health(): ...
            """,
            "app/routers/__init__.py": "",
            "app/routers/everything.py": """
                from fastapi import APIRouter
                from . import items
                router = APIRouter()
                router.include_router(items.router, prefix="/shop")
            """,
            "app/routers/items.py": """
                from fastapi import APIRouter
                router = APIRouter(prefix="/items", tags=["items"])

                @router.get("")
                async def every(): ...

                @router.delete("/{item_id}", status_code=204)
                async def delete(item_id: int): ...

                @router.api_route("/{item_id:path}", methods=["PUT", "PATCH"])
                async def change(item_id: str): ...
            """,
        }
    ) == [
        "DELETE /api/v1/shop/items/{}",
        "GET /api/v1/shop/items",
        "GET /health",
        "PATCH /api/v1/shop/items/{*}",
        "PUT /api/v1/shop/items/{*}",
    ]


def test_a_router_that_no_one_takes_in_serves_nothing() -> None:
    """Declared is not served; but where it is reported only at run time which routers are taken in, all may be."""
    router = """
        from fastapi import APIRouter
        router = APIRouter()
        @router.get("/lost")
        def lost(): ...
    """
    alone = "from fastapi import FastAPI\nfrom lost import router\napp = FastAPI()\n"
    assert routes({"main.py": alone, "lost.py": router}) == []
    dynamic = alone + "for one in [router]:\n    app.include_router(one, prefix='/api')\n"
    assert routes({"main.py": dynamic, "lost.py": router}) == ["GET /api/lost"]


def test_aiohttp_tables_calls_and_sub_applications() -> None:
    """Route tables, `add_get` and its likes, lists of `web.get` and sub-applications."""
    assert routes(
        {
            "main.py": """
                from aiohttp import web
                routes = web.RouteTableDef()

                @routes.get("/items/{id}")
                async def item(request): ...

                @routes.view("/users")
                class Users(web.View):
                    async def get(self): ...
                    async def post(self): ...

                app = web.Application()
                app.add_routes(routes)
                app.router.add_post("/items", create)
                app.router.add_route("PUT", r"/items/{id:\\d+}", change)
                admin = web.Application()
                admin.add_routes([web.get("/stats", stats), web.delete("/cache", clear)])
                app.add_subapp("/admin/", admin)
            """
        }
    ) == [
        "DELETE /admin/cache",
        "GET /admin/stats",
        "GET /items/{}",
        "GET /users",
        "POST /items",
        "POST /users",
        "PUT /items/{}",
    ]


def test_aiohttp_resources() -> None:
    """Routes added to a resource, at once, by its name and through a wrapper; a name means its last value."""
    assert routes(
        {
            "main.py": """
                from aiohttp import web
                app = web.Application()
                resource = app.router.add_resource("/users")
                resource.add_route("GET", users)
                resource.add_route("POST", create)
                resource = app.router.add_resource("/users/{id}", name="user")
                resource.add_route("GET", user)
                app.router.add_resource(r"/files/{name:.+}").add_route("*", files)
                shared = cors.add(app.router.add_resource("/stats"))
                cors.add(shared.add_route("GET", stats))
            """
        }
    ) == ["* /files/{*}", "GET /stats", "GET /users", "GET /users/{}", "POST /users"]


def test_an_application_that_is_handed_in_counts() -> None:
    """Routes on a parameter, or on an attribute, are the application's."""
    assert routes(
        {
            "a.py": "from flask import request\ndef setup(app):\n    @app.route('/a')\n    def a(): ...\n",
            "b.py": "class Server:\n    def go(self):\n        @self.app.post('/b')\n        def b(): ...\n",
        }
    ) == ["GET /a", "POST /b"]


@pytest.mark.parametrize(
    "text",
    [
        "# @app.get('/a')\n# def a(): ...\n",
        "'''\n@app.get('/a')\ndef a(): ...\n'''\n",
        "TEXT = \"@app.route('/a', methods=['POST'])\"\n",
        "from unittest import mock\n@mock.patch('a.b')\ndef test(): ...\n",
        "import requests\nrequests.get('/a')\nclient.post('/a', json={})\n",
        "@app.get(unknown_path())\ndef a(): ...\n",
    ],
)
def test_what_only_looks_like_a_route_is_none(text: str) -> None:
    """Comments, strings, clients and mocks declare nothing; neither does a path that cannot be told."""
    assert routes({"app.py": "from flask import Flask\napp = Flask(__name__)\n" + text}) == []


def test_bottle_applications() -> None:
    """Its `method` is a word or a list, and its parameters stand in angles."""
    assert routes(
        {
            "app.py": """
                from bottle import Bottle

                app = Bottle()

                @app.get("/tasks")
                def listed(): ...

                @app.route("/tasks", method="POST")
                def made(): ...

                @app.route("/tasks/<number:int>", method=["PUT", "DELETE"])
                def changed(number): ...
            """
        }
    ) == ["DELETE /tasks/{}", "GET /tasks", "POST /tasks", "PUT /tasks/{}"]


_APP = "from flask import Flask, Blueprint\nfrom flask_restful import Api, Resource\nfrom shop import views\n"
_FAST = "from fastapi import FastAPI, APIRouter\nfrom shop import views\n"
_AIO = "from aiohttp import web\nfrom shop import views\n"
_VIEWS = """
    from flask.views import MethodView
    class Users(MethodView):
        def get(self): ...
        def delete(self): ...
    class Other:
        def post(self): ...
    def plain(): ...
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{_APP}app = Flask(__name__)\napp.add_url_rule('/a', 'name', views.plain)", ["GET /a"]),
        (f"{_APP}app = Flask(__name__)\napp.add_url_rule('/a', methods=['PUT', 'get'])", ["GET /a", "PUT /a"]),
        (f"{_APP}app = Flask(__name__)\napp.add_url_rule(rule='/a', view_func=views.Users.as_view('u'))",
         ["DELETE /a", "GET /a"]),
        (f"{_APP}app = Flask(__name__)\nv = views.Users.as_view('u')\napp.add_url_rule('/a', 'n', v)",
         ["DELETE /a", "GET /a"]),
        (f"{_APP}app = Flask(__name__)\napp.add_url_rule('/a', views.Users.as_view('u'))", ["GET /a"]),
        (f"{_APP}app = Flask(__name__)\napp.add_url_rule('a')\napp.add_url_rule(unknown)\napp.add_url_rule('')",
         ["GET /"]),
        (f"{_APP}other.add_url_rule('')\nother.add_url_rule('/b')", ["GET /b"]),
        (f"{_APP}api = Api(Flask(__name__))\napi.add_resource(views.Users, '/u', '/v/<int:x>')",
         ["DELETE /u", "DELETE /v/{}", "GET /u", "GET /v/{}"]),
        (f"{_APP}app = Flask(__name__)\nbp = Blueprint('b', __name__, url_prefix='/bp')\n"
         "api = Api(bp, prefix='/api')\n"
         "api.add_resource(views.Users, '/u')\napp.register_blueprint(bp)",
         ["DELETE /bp/api/u", "GET /bp/api/u"]),
        (f"{_APP}app = Flask(__name__)\nbp = Blueprint('b', __name__, url_prefix='/bp')\nbp.add_url_rule('/x')\n"
         "app.register_blueprint(bp, url_prefix='/in')\napp.register_blueprint(bp)", ["GET /bp/x", "GET /in/x"]),
        (f"{_APP}bp = Blueprint('b', __name__)\nbp.add_url_rule('/never')", []),
        (f"{_APP}app = Flask(__name__)\nbp = Blueprint('b', __name__)\nbp.add_url_rule('/x')\n"
         "for each in (bp,):\n    app.register_blueprint(each, url_prefix='/all')", ["GET /all/x"]),
        ("from flask_restx import Api, Namespace\nns = Namespace('cats', path='/c')\nother = Namespace('dogs')\n"
         "api = Api(prefix='/v1')\napi.add_namespace(ns)\napi.add_namespace(other)\n"
         "api.add_namespace(ns, path='/again')\n"
         "@ns.route('/<id>')\nclass Cat:\n    def get(self): ...\n    def put(self): ...\n"
         "@other.route('/')\nclass Dog:\n    def post(self): ...\n",
         ["GET /v1/again/{}", "GET /v1/c/{}", "POST /v1/dogs/", "PUT /v1/again/{}", "PUT /v1/c/{}"]),
        (f"{_FAST}app = FastAPI()\nr = APIRouter(prefix='/r')\nr.add_api_route('/a', views.plain)\n"
         "r.add_api_route('/b', endpoint=views.plain, methods=['POST'])\napp.include_router(r, prefix='/v')\n"
         "@r.api_route('/c/{x:path}', methods=['GET', 'HEAD'])\ndef c(): ...\n@r.get('')\ndef d(): ...\n",
         ["GET /v/r", "GET /v/r/a", "GET /v/r/c/{*}", "HEAD /v/r/c/{*}", "POST /v/r/b"]),
        (f"{_FAST}app = FastAPI()\nsub = FastAPI()\n@sub.get('/x')\ndef x(): ...\napp.mount('/sub', sub)",
         ["GET /sub/x"]),
        (f"{_FAST}app = FastAPI()\napp.include_router(router=views.missing)\n@app.get\ndef x(): ...\n"
         "@get('/y')\ndef y(): ...",
         []),
        (f"{_AIO}app = web.Application()\napp.router.add_route('get', '/a', h)\n"
         "app.router.add_route('*', '/b', h)\n"
         "app.router.add_route('BREW', '/c', h)\napp.router.add_post('/d', h)\n"
         "app.router.add_view('/e', views.Other)\n"
         "app.router.add_static('/f', h)", ["* /b", "GET /a", "POST /d", "POST /e"]),
        (f"{_AIO}app = web.Application()\n"
         "app.add_routes([web.get('/a', h), web.view('/b', views.Other), web.static('/c', p)])\n"
         "web.put('/lost', h)", ["GET /a", "POST /b", "PUT /lost"]),
        (f"{_AIO}app = web.Application()\nsub = web.Application()\nsub.router.add_get('/a', h)\n"
         "app.add_subapp('/s', sub)", ["GET /s/a"]),
        (f"{_AIO}app = web.Application()\nroutes = web.RouteTableDef()\n@routes.delete('/a/{{x}}')\ndef a(): ...\n"
         "@routes.view('/v')\nclass V:\n    def patch(self): ...\n"
         "app.add_routes(routes)", ["DELETE /a/{}", "PATCH /v"]),
        (f"{_AIO}app = web.Application()\nr = app.router.add_resource('/r/{{x}}')\nr.add_route('PUT', h)\n"
         "cors.add(app.router.add_resource('/s')).add_route('get', h)\nr.add_route('BREW', h)\n"
         "none.add_route('PUT', h)",
         ["GET /s", "PUT /r/{}"]),
        ("def make(app):\n    @app.route('/x/<int:y>')\n    def x(): ...\n", ["GET /x/{}"]),
    ],
)  # fmt: skip
def test_forms_of_declaring_a_route(code: str, expected: list[str]) -> None:
    """Each way of a framework beside the usual one, and what declares nothing."""
    assert routes({"main.py": code, "shop/views.py": _VIEWS}) == expected
