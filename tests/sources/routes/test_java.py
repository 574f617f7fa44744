"""Routes of Spring, Micronaut, JAX-RS, Javalin and Spark."""

from tests.sources.routes.declared import routes


def test_spring_controllers() -> None:
    """Mappings by verb, by method and by array, below the class's, with constants and the context path."""
    controller = """
        package com.example;
        import org.springframework.web.bind.annotation.*;

        @RestController
        @RequestMapping(Paths.API + "/users")
        public class UserController {
            @GetMapping
            public List<User> all() { return null; }

            @GetMapping("/{id}")
            public User one(@PathVariable long id) { return null; }

            @PostMapping(path = {"", "/register"}, consumes = "application/json")
            public User add(@RequestBody User user) { return null; }

            @RequestMapping(value = "/{id}/status", method = {RequestMethod.PUT, RequestMethod.PATCH})
            public void status() { }

            // @DeleteMapping("/{id}")
            public void gone() { String text = "@DeleteMapping(\\"/x\\")"; }
        }
    """
    constants = 'package com.example; class Paths { static final String API = "/api"; }'
    expected = [
        "GET /api/users",
        "GET /api/users/{}",
        "PATCH /api/users/{}/status",
        "POST /api/users",
        "POST /api/users/register",
        "PUT /api/users/{}/status",
    ]
    sources = {"UserController.java": controller, "Paths.java": constants}
    assert routes(sources) == expected
    yaml = "server:\n  port: 8080\n  servlet:\n    context-path: ${PREFIX:/shop}\n"
    assert routes(sources, {"src/main/resources/application.yml": yaml}) == [
        route.replace(" /", " /shop/", 1) for route in expected
    ]


def test_spring_functions_and_clients() -> None:
    """Router functions count; a client's interface declares what others serve."""
    assert routes(
        {
            "Router.java": """
                import org.springframework.web.servlet.function.*;
                class Router {
                    RouterFunction<ServerResponse> routes() {
                        return RouterFunctions.route().GET("/ping", r -> ok()).POST("/echo", this::echo).build();
                    }
                }
            """,
            "Client.java": """
                import org.springframework.web.bind.annotation.*;
                @FeignClient("other")
                interface Client { @GetMapping("/elsewhere") String get(); }
            """,
        }
    ) == ["GET /ping", "POST /echo"]


def test_micronaut_controllers() -> None:
    """Templates with optional queries and missing values are read."""
    assert routes(
        {
            "ProjectController.java": """
                import io.micronaut.http.annotation.*;
                @Controller("/projects")
                class ProjectController {
                    @Get("{?max,offset}") List<Project> all() { return null; }
                    @Get("/{id}") Project one(String id) { return null; }
                    @Post Project add(@Body Project project) { return project; }
                    @Put(uri = "/{id}/status") Project status(String id) { return null; }
                }
            """
        },
        {"application.properties": "micronaut.server.context-path=/ci\n"},
    ) == ["GET /ci/projects", "GET /ci/projects/{}", "POST /ci/projects", "PUT /ci/projects/{}/status"]


def test_jax_rs_resources() -> None:
    """Class and method paths, parameters with regular expressions, the application's path; no clients."""
    assert routes(
        {
            "PostResource.java": """
                import jakarta.ws.rs.*;
                @Path("posts")
                public class PostResource {
                    @GET public Object all() { return null; }
                    @GET @Path("{id: [0-9]+}/comments") public Object comments() { return null; }
                    @DELETE @Path("/{id}") public void delete() { }
                    public void helper() { }
                }
            """,
            "App.java": """
                import jakarta.ws.rs.*;
                @ApplicationPath("/api") public class App extends Application { }
            """,
            "Remote.java": """
                import jakarta.ws.rs.*;
                @RegisterRestClient @Path("/remote") interface Remote { @GET Object get(); }
            """,
        }
    ) == ["DELETE /api/posts/{}", "GET /api/posts", "GET /api/posts/{}/comments"]


def test_javalin_calls_and_builders() -> None:
    """Routes on the application, nested paths, methods that hold routes, and crud handlers."""
    assert routes(
        {
            "App.java": """
                import io.javalin.Javalin;
                import static io.javalin.apibuilder.ApiBuilder.*;
                public class App {
                    public static Javalin start(int port) {
                        Javalin app = Javalin.create(config -> {
                            config.routing.contextPath = "/base";
                        });
                        app.get("/health", ctx -> ctx.result("ok"));
                        app.routes(() -> {
                            path("/api", () -> {
                                path("users", () -> {
                                    get(App::all);
                                    get("{id}", ctx -> { Map<String, String> m = cache.get("/x"); });
                                    post("login", App::login);
                                });
                                tasks();
                            });
                            crud("/notes/{note}", new Notes());
                        });
                        return app.start(port);
                    }
                    static void tasks() {
                        path("/tasks", () -> put("/:id", ctx -> { }));
                    }
                }
            """
        }
    ) == [
        "DELETE /base/notes/{}",
        "GET /base/api/users",
        "GET /base/api/users/{}",
        "GET /base/health",
        "GET /base/notes",
        "GET /base/notes/{}",
        "PATCH /base/notes/{}",
        "POST /base/api/users/login",
        "POST /base/notes",
        "PUT /base/api/tasks/{}",
    ]


def test_spark_calls() -> None:
    """Static and qualified calls, paths around them, parameters and splats; filters are no routes."""
    assert routes(
        {
            "App.java": """
                import static spark.Spark.*;
                import spark.Spark;
                class App {
                    static final String API = "/api";
                    static void start(int port) {
                        port(port);
                        before("/*", (req, res) -> { });
                        path(API, () -> {
                            get("/boards/:id", (req, res) -> "", json());
                            delete("/boards/:id", App::remove);
                        });
                        Spark.post(API + "/login", App::login);
                        get("/files/*", (req, res) -> "");
                        notFound("gone");
                    }
                }
            """
        }
    ) == ["DELETE /api/boards/{}", "GET /api/boards/{}", "GET /files/{*}", "POST /api/login"]


def test_other_java_declares_nothing() -> None:
    """Maps, clients and comments beside the frameworks are no routes."""
    assert (
        routes(
            {
                "Other.java": """
                    import io.javalin.Javalin;
                    class Other {
                        // app.get("/commented", ctx -> { });
                        void go() { map.get("/key"); HttpRequest.newBuilder().GET(); headers.put("a", "b"); }
                    }
                """
            }
        )
        == []
    )
