package com.example.javalintaskmanager;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.Javalin;
import io.javalin.http.BadRequestResponse;
import io.javalin.http.ConflictResponse;
import io.javalin.http.Context;
import io.javalin.http.ForbiddenResponse;
import io.javalin.http.Handler;
import io.javalin.http.NotFoundResponse;
import io.javalin.http.UnauthorizedResponse;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Projects, tasks and comments of registered users, in memory. */
public final class App {
    private record User(int id, String username, String email, String password) {}

    private record Project(int id, String name, String description, int ownerId) {}

    private record Task(int id, String title, String description, String status, int projectId, Integer assigneeId) {}

    private record Comment(int id, String content, int taskId, int authorId, String createdAt) {}

    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, User> users = new ConcurrentSkipListMap<>();
    private final Map<String, Integer> sessions = new ConcurrentHashMap<>();
    private final Map<Integer, Project> projects = new ConcurrentSkipListMap<>();
    private final Map<Integer, Task> tasks = new ConcurrentSkipListMap<>();
    private final Map<Integer, Comment> comments = new ConcurrentSkipListMap<>();

    private App() {}

    public static void main(String[] words) {
        String port = System.getenv().getOrDefault("SERVICE_PORT", "7000");
        start(Integer.parseInt(port));
    }

    /** Starts the service; port 0 takes any. */
    public static Javalin start(int port) {
        App app = new App();
        Javalin server = Javalin.create(config -> config.showJavalinBanner = false);
        app.routes(server);
        return server.start(port);
    }

    private void routes(Javalin server) {
        server.post("/users", this::register);
        server.post("/users/login", this::login);
        server.get("/users/{id}/tasks", known(this::tasksOfUser));
        server.get("/projects", known(context -> context.json(List.copyOf(projects.values()))));
        server.post("/projects", known(this::createProject));
        server.get("/projects/{id}", known(context -> context.json(project(context))));
        server.put("/projects/{id}", known(this::updateProject));
        server.delete("/projects/{id}", known(this::deleteProject));
        server.get("/projects/{id}/tasks", known(this::tasksOfProject));
        server.post("/projects/{id}/tasks", known(this::createTask));
        server.get("/tasks/{id}", known(context -> context.json(task(context))));
        server.put("/tasks/{id}", known(this::updateTask));
        server.delete("/tasks/{id}", known(this::deleteTask));
        server.post("/tasks/{id}/comments", known(this::addComment));
        server.get("/tasks/{id}/comments", known(this::commentsOfTask));
    }

    // Users

    private void register(Context context) {
        JsonNode body = body(context);
        String username = text(body, "username");
        String email = text(body, "email");
        String password = text(body, "password");
        if (username == null || email == null || password == null) {
            throw new BadRequestResponse("username, email and password are needed");
        }
        if (users.values().stream().anyMatch(user -> user.email().equals(email))) {
            throw new ConflictResponse("this email is taken");
        }
        User user = new User(ids.incrementAndGet(), username, email, password);
        users.put(user.id(), user);
        context.status(201).json(Map.of("id", user.id(), "username", username, "email", email));
    }

    private void login(Context context) {
        JsonNode body = body(context);
        for (User user : users.values()) {
            if (user.email().equals(text(body, "email")) && user.password().equals(text(body, "password"))) {
                String token = UUID.randomUUID().toString();
                sessions.put(token, user.id());
                context.json(Map.of("token", token));
                return;
            }
        }
        throw new UnauthorizedResponse("email or password is wrong");
    }

    private Handler known(Handler handler) {
        return context -> {
            userOf(context);
            handler.handle(context);
        };
    }

    private int userOf(Context context) {
        String header = context.header("Authorization");
        Integer user = header != null && header.startsWith("Bearer ") ? sessions.get(header.substring(7)) : null;
        if (user == null) {
            throw new UnauthorizedResponse("log in first");
        }
        return user;
    }

    private void tasksOfUser(Context context) {
        int user = id(context);
        context.json(tasks.values().stream()
                .filter(task -> task.assigneeId() != null && task.assigneeId() == user)
                .toList());
    }

    // Projects

    private void createProject(Context context) {
        JsonNode body = body(context);
        String name = text(body, "name");
        if (name == null) {
            throw new BadRequestResponse("name is needed");
        }
        Project made = new Project(ids.incrementAndGet(), name, text(body, "description"), userOf(context));
        projects.put(made.id(), made);
        context.status(201).json(made);
    }

    private void updateProject(Context context) {
        Project old = owned(context);
        JsonNode body = body(context);
        Project changed = new Project(
                old.id(), or(text(body, "name"), old.name()), or(text(body, "description"), old.description()),
                old.ownerId());
        projects.put(old.id(), changed);
        context.json(changed);
    }

    private void deleteProject(Context context) {
        Project old = owned(context);
        projects.remove(old.id());
        tasks.values().removeIf(task -> task.projectId() == old.id());
        context.status(204);
    }

    private Project project(Context context) {
        return found(projects.get(id(context)), "project");
    }

    private Project owned(Context context) {
        Project project = project(context);
        if (project.ownerId() != userOf(context)) {
            throw new ForbiddenResponse("this project is somebody else's");
        }
        return project;
    }

    // Tasks and comments

    private void tasksOfProject(Context context) {
        Project project = project(context);
        context.json(tasks.values().stream().filter(task -> task.projectId() == project.id()).toList());
    }

    private void createTask(Context context) {
        Project project = project(context);
        JsonNode body = body(context);
        String title = text(body, "title");
        if (title == null) {
            throw new BadRequestResponse("title is needed");
        }
        Task made = new Task(
                ids.incrementAndGet(), title, text(body, "description"), "TODO", project.id(),
                number(body, "assigneeId"));
        tasks.put(made.id(), made);
        context.status(201).json(shown(made));
    }

    private void updateTask(Context context) {
        Task old = task(context);
        JsonNode body = body(context);
        Integer assignee = number(body, "assigneeId");
        Task changed = new Task(
                old.id(), or(text(body, "title"), old.title()), or(text(body, "description"), old.description()),
                or(text(body, "status"), old.status()), old.projectId(),
                assignee == null ? old.assigneeId() : assignee);
        tasks.put(old.id(), changed);
        context.json(shown(changed));
    }

    private void deleteTask(Context context) {
        Task old = task(context);
        tasks.remove(old.id());
        comments.values().removeIf(comment -> comment.taskId() == old.id());
        context.status(204);
    }

    private Task task(Context context) {
        return found(tasks.get(id(context)), "task");
    }

    private void addComment(Context context) {
        Task task = task(context);
        String content = text(body(context), "content");
        if (content == null) {
            throw new BadRequestResponse("content is needed");
        }
        Comment made = new Comment(
                ids.incrementAndGet(), content, task.id(), userOf(context), Instant.now().toString());
        comments.put(made.id(), made);
        context.status(201).json(made);
    }

    private void commentsOfTask(Context context) {
        Task task = task(context);
        context.json(comments.values().stream().filter(comment -> comment.taskId() == task.id()).toList());
    }

    private static Map<String, Object> shown(Task task) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("id", task.id());
        shown.put("title", task.title());
        shown.put("description", task.description());
        shown.put("status", task.status());
        shown.put("projectId", task.projectId());
        shown.put("assigneeId", task.assigneeId());
        return shown;
    }

    // Requests

    private static JsonNode body(Context context) {
        try {
            return context.bodyAsClass(JsonNode.class);
        } catch (RuntimeException error) {
            throw new BadRequestResponse("this is not JSON");
        }
    }

    private static String text(JsonNode body, String name) {
        JsonNode value = body.get(name);
        return value == null || !value.isTextual() ? null : value.asText();
    }

    private static Integer number(JsonNode body, String name) {
        JsonNode value = body.get(name);
        return value == null || !value.isInt() ? null : Integer.valueOf(value.asInt());
    }

    private static String or(String first, String second) {
        return first == null ? second : first;
    }

    private static int id(Context context) {
        return context.pathParamAsClass("id", Integer.class).get();
    }

    private static <T> T found(T thing, String kind) {
        if (thing == null) {
            throw new NotFoundResponse("there is no such " + kind);
        }
        return thing;
    }
}
