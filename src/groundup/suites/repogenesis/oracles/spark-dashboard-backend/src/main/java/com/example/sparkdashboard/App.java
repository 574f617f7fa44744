package com.example.sparkdashboard;

import static spark.Spark.awaitInitialization;
import static spark.Spark.delete;
import static spark.Spark.exception;
import static spark.Spark.get;
import static spark.Spark.notFound;
import static spark.Spark.path;
import static spark.Spark.port;
import static spark.Spark.post;
import static spark.Spark.put;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import spark.Request;
import spark.Response;
import spark.Route;

/** Dashboards with widgets, data sources and datasets, in memory. */
public final class App {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What ends a request early. */
    private static final class Refusal extends RuntimeException {
        private final int status;

        Refusal(int status, String message) {
            super(message);
            this.status = status;
        }
    }

    private interface Action {
        Object answer(Request request, Response response) throws JsonProcessingException;
    }

    private final Map<String, Map<String, Object>> dashboards = new ConcurrentSkipListMap<>();
    private final Map<String, Map<String, Object>> widgets = new ConcurrentSkipListMap<>();
    private final Map<String, Map<String, Object>> sources = new ConcurrentSkipListMap<>();
    private final Map<String, Map<String, Object>> datasets = new ConcurrentSkipListMap<>();
    private final Map<String, String> sessions = new ConcurrentHashMap<>();
    private final Map<String, Object> user = new ConcurrentHashMap<>();
    private volatile String password = "password";

    private App() {
        user.putAll(Map.of("id", "1", "username", "admin", "email", "admin@example.com", "role", "admin"));
        Map<String, Object> sales = new TreeMap<>(Map.of("id", "sales", "name", "Sales", "datasource_id", "none"));
        sales.put("query", "SELECT day, amount FROM sales");
        datasets.put("sales", sales);
    }

    public static void main(String[] words) {
        start(Integer.parseInt(System.getenv().getOrDefault("SERVICE_PORT", "4567")));
    }

    /** Starts the service; port 0 takes any. */
    public static void start(int number) {
        port(number);
        new App().routes();
        awaitInitialization();
    }

    private void routes() {
        path("/api", () -> {
            post("/login", json(this::login));
            get("/dashboards", known((request, response) -> List.copyOf(dashboards.values())));
            post("/dashboards", known(this::createDashboard));
            get("/dashboards/:id", known(this::dashboard));
            put("/dashboards/:id", known(this::updateDashboard));
            delete("/dashboards/:id", known(this::deleteDashboard));
            post("/dashboards/:id/widgets", known(this::addWidget));
            put("/widgets/:id", known(this::updateWidget));
            delete("/widgets/:id", known(this::deleteWidget));
            get("/datasources", known((request, response) -> List.copyOf(sources.values())));
            post("/datasources", known(this::createSource));
            get("/datasets", known((request, response) -> List.copyOf(datasets.values())));
            post("/query", known(this::query));
            get("/users/me", known((request, response) -> user));
            put("/users/me", known(this::updateUser));
        });
        exception(Refusal.class, (refusal, request, response) -> {
            response.status(refusal.status);
            response.type("application/json");
            response.body("{\"error\": \"" + refusal.getMessage() + "\"}");
        });
        notFound((request, response) -> {
            response.type("application/json");
            return "{\"error\": \"nothing is here\"}";
        });
    }

    private static Route json(Action action) {
        return (request, response) -> {
            response.type("application/json");
            return JSON.writeValueAsString(action.answer(request, response));
        };
    }

    private Route known(Action action) {
        return json((request, response) -> {
            String header = request.headers("Authorization");
            if (header == null || !header.startsWith("Bearer ") || !sessions.containsKey(header.substring(7))) {
                throw new Refusal(401, "log in first");
            }
            return action.answer(request, response);
        });
    }

    private Object login(Request request, Response response) {
        JsonNode body = body(request);
        if (!user.get("username").equals(text(body, "username")) || !password.equals(text(body, "password"))) {
            throw new Refusal(401, "user name or password is wrong");
        }
        String token = UUID.randomUUID().toString();
        sessions.put(token, "1");
        Map<String, Object> shown = new TreeMap<>(user);
        shown.remove("role");
        return Map.of("token", token, "user", shown);
    }

    private Object createDashboard(Request request, Response response) {
        JsonNode body = body(request);
        String now = Instant.now().toString();
        Map<String, Object> made = new TreeMap<>();
        made.put("id", UUID.randomUUID().toString());
        made.put("title", needed(body, "title"));
        made.put("description", text(body, "description"));
        made.put("created_at", now);
        made.put("updated_at", now);
        return kept(dashboards, made, response);
    }

    private Object dashboard(Request request, Response response) {
        Map<String, Object> found = found(dashboards, request);
        List<Object> own = new ArrayList<>();
        for (Map<String, Object> widget : widgets.values()) {
            if (widget.get("dashboard_id").equals(found.get("id"))) {
                own.add(widget);
            }
        }
        Map<String, Object> shown = new TreeMap<>(found);
        shown.put("widgets", own);
        return shown;
    }

    private Object updateDashboard(Request request, Response response) {
        return changed(dashboards, found(dashboards, request), body(request), "title", "description");
    }

    private Object deleteDashboard(Request request, Response response) {
        Object id = found(dashboards, request).get("id");
        dashboards.remove(id);
        widgets.values().removeIf(widget -> widget.get("dashboard_id").equals(id));
        return Map.of("message", "Dashboard deleted successfully");
    }

    private Object addWidget(Request request, Response response) {
        Map<String, Object> dashboard = found(dashboards, request);
        JsonNode body = body(request);
        Map<String, Object> made = new TreeMap<>();
        made.put("id", UUID.randomUUID().toString());
        made.put("dashboard_id", dashboard.get("id"));
        made.put("type", needed(body, "type"));
        made.put("title", text(body, "title"));
        made.put("config", body.get("config"));
        made.put("created_at", Instant.now().toString());
        return kept(widgets, made, response);
    }

    private Object updateWidget(Request request, Response response) {
        return changed(widgets, found(widgets, request), body(request), "title", "config");
    }

    private Object deleteWidget(Request request, Response response) {
        widgets.remove(found(widgets, request).get("id"));
        return Map.of("message", "Widget deleted successfully");
    }

    private Object createSource(Request request, Response response) {
        JsonNode body = body(request);
        Map<String, Object> made = new TreeMap<>();
        made.put("id", UUID.randomUUID().toString());
        made.put("name", needed(body, "name"));
        made.put("type", needed(body, "type"));
        made.put("connection_details", body.get("connection_details"));
        made.put("created_at", Instant.now().toString());
        return kept(sources, made, response);
    }

    private Object query(Request request, Response response) {
        if (!datasets.containsKey(needed(body(request), "dataset_id"))) {
            throw new Refusal(404, "there is no such dataset");
        }
        return Map.of("columns", List.of("day", "amount"), "data", List.of(List.of("2024-01-01", "12")));
    }

    private Object updateUser(Request request, Response response) {
        JsonNode body = body(request);
        if (text(body, "password") != null) {
            password = text(body, "password");
        }
        if (text(body, "email") != null) {
            user.put("email", text(body, "email"));
        }
        Map<String, Object> shown = new TreeMap<>(user);
        shown.remove("role");
        shown.put("updated_at", Instant.now().toString());
        return shown;
    }

    private static Object kept(
            Map<String, Map<String, Object>> things, Map<String, Object> made, Response response) {
        things.put((String) made.get("id"), made);
        response.status(201);
        return made;
    }

    private static Object changed(
            Map<String, Map<String, Object>> things, Map<String, Object> old, JsonNode body, String... names) {
        Map<String, Object> made = new TreeMap<>(old);
        for (String name : names) {
            if (body.has(name)) {
                made.put(name, body.get(name));
            }
        }
        made.put("updated_at", Instant.now().toString());
        things.put((String) old.get("id"), made);
        return made;
    }

    private static Map<String, Object> found(Map<String, Map<String, Object>> things, Request request) {
        Map<String, Object> thing = things.get(request.params(":id"));
        if (thing == null) {
            throw new Refusal(404, "there is no such thing");
        }
        return thing;
    }

    private static JsonNode body(Request request) {
        try {
            JsonNode body = JSON.readTree(request.body());
            if (body != null && body.isObject()) {
                return body;
            }
        } catch (JsonProcessingException error) {
            // told below
        }
        throw new Refusal(400, "this is not a JSON object");
    }

    private static String text(JsonNode body, String name) {
        JsonNode value = body.get(name);
        return value == null || !value.isTextual() ? null : value.asText();
    }

    private static String needed(JsonNode body, String name) {
        String value = text(body, name);
        if (value == null) {
            throw new Refusal(400, name + " is needed");
        }
        return value;
    }
}
