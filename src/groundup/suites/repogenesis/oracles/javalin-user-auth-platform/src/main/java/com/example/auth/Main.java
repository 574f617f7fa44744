package com.example.auth;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.Javalin;
import io.javalin.http.Context;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** Users who register, log in and change their profiles, in memory. */
public final class Main {
    private static final Pattern USERNAME = Pattern.compile("[A-Za-z0-9]{3,20}");
    private static final Pattern EMAIL = Pattern.compile("[^@\\s]+@[^@\\s]+\\.[^@\\s]+");
    private static final int SHORTEST_PASSWORD = 6;
    private static final Duration SESSION = Duration.ofHours(24);

    private record User(String id, String username, String email, Password password, Instant createdAt) {}

    private record Session(String userId, Instant until) {}

    /** What ends a request early. */
    private static final class Refusal extends RuntimeException {
        private final int status;

        Refusal(int status, String message) {
            super(message);
            this.status = status;
        }
    }

    private final Map<String, User> users = new ConcurrentHashMap<>();
    private final Map<String, Session> sessions = new ConcurrentHashMap<>();

    private Main() {}

    public static void main(String[] words) {
        start(Integer.parseInt(System.getenv().getOrDefault("SERVICE_PORT", "7070")));
    }

    /** Starts the service; port 0 takes any. */
    public static Javalin start(int port) {
        Main service = new Main();
        Javalin server = Javalin.create(config -> config.showJavalinBanner = false);
        service.routes(server);
        server.exception(Refusal.class, (refusal, context) ->
                context.status(refusal.status).json(Map.of("success", false, "message", refusal.getMessage())));
        return server.start(port);
    }

    private void routes(Javalin server) {
        server.post("/api/users/register", this::register);
        server.post("/api/users/login", this::login);
        server.get("/api/users/profile", this::profile);
        server.put("/api/users/profile", this::updateProfile);
        server.post("/api/users/change-password", this::changePassword);
        server.post("/api/users/logout", this::logout);
        server.get("/api/users/validate-session", this::validateSession);
        server.delete("/api/users/{userId}", this::delete);
    }

    private synchronized void register(Context context) {
        JsonNode body = body(context);
        String username = needed(body, "username");
        String email = email(needed(body, "email"));
        String password = password(needed(body, "password"));
        if (!USERNAME.matcher(username).matches()) {
            throw new Refusal(400, "username must be 3 to 20 letters and digits");
        }
        if (users.values().stream().anyMatch(user -> user.username().equals(username))) {
            throw new Refusal(400, "this username is taken");
        }
        if (users.values().stream().anyMatch(user -> user.email().equals(email))) {
            throw new Refusal(400, "this email is taken");
        }
        User made = new User(UUID.randomUUID().toString(), username, email, Password.of(password), Instant.now());
        users.put(made.id(), made);
        context.status(201).json(done("User registered successfully", "userId", made.id()));
    }

    private void login(Context context) {
        JsonNode body = body(context);
        String username = needed(body, "username");
        String password = needed(body, "password");
        User user = users.values().stream()
                .filter(one -> one.username().equals(username) && one.password().is(password))
                .findFirst()
                .orElseThrow(() -> new Refusal(401, "Invalid credentials"));
        String token = UUID.randomUUID().toString();
        sessions.put(token, new Session(user.id(), Instant.now().plus(SESSION)));
        context.json(done("Login successful", "sessionToken", token, "userId", user.id()));
    }

    private void profile(Context context) {
        User user = userOf(context);
        context.json(Map.of("success", true, "user", Map.of(
                "userId", user.id(), "username", user.username(), "email", user.email(),
                "createdAt", user.createdAt().toString())));
    }

    private synchronized void updateProfile(Context context) {
        User old = userOf(context);
        String email = email(needed(body(context), "email"));
        if (users.values().stream().anyMatch(user -> user.email().equals(email) && !user.id().equals(old.id()))) {
            throw new Refusal(400, "this email is taken");
        }
        users.put(old.id(), new User(old.id(), old.username(), email, old.password(), old.createdAt()));
        context.json(done("Profile updated successfully"));
    }

    private synchronized void changePassword(Context context) {
        User old = userOf(context);
        JsonNode body = body(context);
        String current = needed(body, "currentPassword");
        Password changed = Password.of(password(needed(body, "newPassword")));
        if (!old.password().is(current)) {
            throw new Refusal(400, "this is not the current password");
        }
        users.put(old.id(), new User(old.id(), old.username(), old.email(), changed, old.createdAt()));
        context.json(done("Password changed successfully"));
    }

    private void logout(Context context) {
        userOf(context);
        sessions.remove(token(context));
        context.json(done("Logout successful"));
    }

    private void validateSession(Context context) {
        try {
            User user = userOf(context);
            context.json(Map.of("success", true, "valid", true, "userId", user.id()));
        } catch (Refusal refusal) {
            context.status(401);
            context.json(Map.of("success", false, "valid", false, "message", "Invalid or expired session"));
        }
    }

    /** Users may delete themselves, nobody else. */
    private void delete(Context context) {
        User user = userOf(context);
        if (!user.id().equals(context.pathParam("userId"))) {
            throw new Refusal(401, "Unauthorized");
        }
        users.remove(user.id());
        sessions.values().removeIf(session -> session.userId().equals(user.id()));
        context.json(done("User deleted successfully"));
    }

    // Requests and answers

    private User userOf(Context context) {
        Session session = sessions.get(token(context));
        if (session == null || session.until().isBefore(Instant.now())) {
            throw new Refusal(401, "Unauthorized");
        }
        return users.get(session.userId());
    }

    private static String token(Context context) {
        String header = context.header("Authorization");
        return header != null && header.startsWith("Bearer ") ? header.substring(7) : "";
    }

    private static JsonNode body(Context context) {
        try {
            JsonNode body = context.bodyAsClass(JsonNode.class);
            if (body != null && body.isObject()) {
                return body;
            }
        } catch (RuntimeException error) {
            // told below
        }
        throw new Refusal(400, "this is not a JSON object");
    }

    private static String needed(JsonNode body, String name) {
        JsonNode value = body.get(name);
        if (value == null || !value.isTextual() || value.asText().isEmpty()) {
            throw new Refusal(400, name + " is needed");
        }
        return value.asText();
    }

    private static String email(String value) {
        if (!EMAIL.matcher(value).matches()) {
            throw new Refusal(400, "this is no email address");
        }
        return value;
    }

    private static String password(String value) {
        if (value.length() < SHORTEST_PASSWORD) {
            throw new Refusal(400, "a password has at least " + SHORTEST_PASSWORD + " characters");
        }
        return value;
    }

    private static Map<String, Object> done(String message, String... more) {
        Map<String, Object> answer = new LinkedHashMap<>(Map.of("success", true, "message", message));
        for (int next = 0; next < more.length; next += 2) {
            answer.put(more[next], more[next + 1]);
        }
        return answer;
    }
}
