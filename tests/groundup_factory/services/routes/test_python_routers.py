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
