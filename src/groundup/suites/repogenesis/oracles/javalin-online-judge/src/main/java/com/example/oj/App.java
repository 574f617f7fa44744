package com.example.oj;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.Javalin;
import io.javalin.http.BadRequestResponse;
import io.javalin.http.ConflictResponse;
import io.javalin.http.Context;
import io.javalin.http.ForbiddenResponse;
import io.javalin.http.Handler;
import io.javalin.http.NotFoundResponse;
import io.javalin.http.UnauthorizedResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Users, problems, what is submitted for them, and contests, in memory. */
public final class App {
    private static final String ADMINISTRATOR = "admin";
    private static final Set<String> DIFFICULTIES = Set.of("EASY", "MEDIUM", "HARD");
    private static final Set<String> LANGUAGES = Set.of("JAVA", "PYTHON", "CPP");

    private record User(String id, String username, String email, String role) {}

    private record Problem(
            String id, String title, String description, String difficulty, long timeLimit, long memoryLimit) {}

    private record Submission(
            String id, String userId, String problemId, String code, String language, String status, long timestamp) {}

    private record Contest(String id, String title, long startTime, long endTime, List<String> problemIds) {}

    private record Standing(String userId, long score) {}

    private final Map<String, User> users = new ConcurrentHashMap<>();
    private final Map<String, String> passwords = new ConcurrentHashMap<>();
    private final Map<String, String> sessions = new ConcurrentHashMap<>();
    private final Set<String> banned = ConcurrentHashMap.newKeySet();
    private final Map<String, Problem> problems = new ConcurrentHashMap<>();
    private final Map<String, Submission> submissions = new ConcurrentHashMap<>();
    private final Map<String, Contest> contests = new ConcurrentHashMap<>();
    private final Map<String, Set<String>> entrants = new ConcurrentHashMap<>();

    private App() {}

    public static void main(String[] words) {
        start(Integer.parseInt(System.getenv().getOrDefault("SERVICE_PORT", "7000")));
    }

    /** Starts the service; port 0 takes any. */
    public static Javalin start(int port) {
        App app = new App();
        Javalin server = Javalin.create(config -> config.showJavalinBanner = false);
        app.routes(server);
        return server.start(port);
    }

    private void routes(Javalin server) {
        server.post("/api/auth/register", this::register);
        server.post("/api/auth/login", this::login);
        server.get("/api/users/{id}", known(context -> context.json(found(users, context))));
        server.patch("/api/users/{id}", known(this::updateUser));
        server.post("/api/problems", administrator(this::createProblem));
        server.get("/api/problems", context -> context.json(List.copyOf(problems.values())));
        server.get("/api/problems/{id}", context -> context.json(found(problems, context)));
        server.put("/api/problems/{id}", administrator(this::updateProblem));
        server.delete("/api/problems/{id}", administrator(this::deleteProblem));
        server.post("/api/submissions", known(this::submit));
        server.get("/api/submissions", known(this::listSubmissions));
        server.get("/api/submissions/{id}", known(context -> context.json(found(submissions, context))));
        server.post("/api/contests", administrator(this::createContest));
        server.get("/api/contests", context -> context.json(List.copyOf(contests.values())));
        server.get("/api/contests/{id}", context -> context.json(found(contests, context)));
        server.post("/api/contests/{id}/join", known(this::join));
        server.get("/api/contests/{id}/standings", this::standings);
        server.post("/api/admin/users/{id}/ban", administrator(this::ban));
    }

    // Users

    private synchronized void register(Context context) {
        JsonNode body = body(context);
        String username = needed(body, "username");
        String email = needed(body, "email");
        String password = needed(body, "password");
        if (users.values().stream().anyMatch(user -> user.username().equals(username))) {
            throw new ConflictResponse("this name is taken");
        }
        String role = username.equals(ADMINISTRATOR) ? "ADMIN" : "USER";
        User made = new User(UUID.randomUUID().toString(), username, email, role);
        users.put(made.id(), made);
        passwords.put(made.id(), password);
        context.status(201).json(made);
    }

    private void login(Context context) {
        JsonNode body = body(context);
        String username = needed(body, "username");
        String password = needed(body, "password");
        for (User user : users.values()) {
            if (user.username().equals(username) && passwords.get(user.id()).equals(password)) {
                refuseBanned(user);
                String token = UUID.randomUUID().toString();
                sessions.put(token, user.id());
                context.json(Map.of("token", token));
                return;
            }
        }
        throw new UnauthorizedResponse("name or password is wrong");
    }

    private void updateUser(Context context) {
        User old = found(users, context);
        User who = userOf(context);
        if (!who.id().equals(old.id()) && !who.role().equals("ADMIN")) {
            throw new ForbiddenResponse("this is somebody else");
        }
        String email = text(body(context), "email");
        User changed = new User(old.id(), old.username(), email == null ? old.email() : email, old.role());
        users.put(old.id(), changed);
        context.json(changed);
    }

    private void ban(Context context) {
        User user = found(users, context);
        banned.add(user.id());
        context.json(Map.of("id", user.id(), "banned", true));
    }

    // Problems and what is submitted

    private void createProblem(Context context) {
        Problem made = problem(UUID.randomUUID().toString(), body(context));
        problems.put(made.id(), made);
        context.status(201).json(made);
    }

    private void updateProblem(Context context) {
        Problem changed = problem(found(problems, context).id(), body(context));
        problems.put(changed.id(), changed);
        context.json(changed);
    }

    private void deleteProblem(Context context) {
        problems.remove(found(problems, context).id());
        context.status(204);
    }

    private static Problem problem(String id, JsonNode body) {
        return new Problem(
                id, needed(body, "title"), text(body, "description"), oneOf(DIFFICULTIES, body, "difficulty"),
                number(body, "timeLimit"), number(body, "memoryLimit"));
    }

    private void submit(Context context) {
        JsonNode body = body(context);
        String problem = needed(body, "problemId");
        if (!problems.containsKey(problem)) {
            throw new NotFoundResponse("there is no such problem");
        }
        Submission made = new Submission(
                UUID.randomUUID().toString(), userOf(context).id(), problem, needed(body, "code"),
                oneOf(LANGUAGES, body, "language"), "PENDING", System.currentTimeMillis());
        submissions.put(made.id(), made);
        context.status(201).json(made);
    }

    private void listSubmissions(Context context) {
        String user = context.queryParam("userId");
        String problem = context.queryParam("problemId");
        context.json(submissions.values().stream()
                .filter(one -> user == null || one.userId().equals(user))
                .filter(one -> problem == null || one.problemId().equals(problem))
                .sorted(Comparator.comparingLong(Submission::timestamp))
                .toList());
    }

    // Contests

    private void createContest(Context context) {
        JsonNode body = body(context);
        List<String> chosen = new ArrayList<>();
        body.path("problemIds").forEach(problem -> chosen.add(problem.asText()));
        Contest made = new Contest(
                UUID.randomUUID().toString(), needed(body, "title"), number(body, "startTime"),
                number(body, "endTime"), chosen);
        contests.put(made.id(), made);
        entrants.put(made.id(), ConcurrentHashMap.newKeySet());
        context.status(201).json(made);
    }

    private void join(Context context) {
        Contest contest = found(contests, context);
        entrants.get(contest.id()).add(userOf(context).id());
        context.json(Map.of("contestId", contest.id(), "joined", true));
    }

    private void standings(Context context) {
        Contest contest = found(contests, context);
        context.json(entrants.get(contest.id()).stream()
                .map(user -> new Standing(user, score(user, contest)))
                .sorted(Comparator.comparingLong(Standing::score).reversed())
                .toList());
    }

    private long score(String user, Contest contest) {
        return submissions.values().stream()
                .filter(one -> one.userId().equals(user) && one.status().equals("ACCEPTED"))
                .filter(one -> contest.startTime() <= one.timestamp() && one.timestamp() <= contest.endTime())
                .map(Submission::problemId)
                .filter(contest.problemIds()::contains)
                .distinct()
                .count();
    }

    // Who asks

    private Handler known(Handler handler) {
        return context -> {
            userOf(context);
            handler.handle(context);
        };
    }

    private Handler administrator(Handler handler) {
        return context -> {
            if (!userOf(context).role().equals("ADMIN")) {
                throw new ForbiddenResponse("only an administrator may do this");
            }
            handler.handle(context);
        };
    }

    private User userOf(Context context) {
        String header = context.header("Authorization");
        String user = header != null && header.startsWith("Bearer ") ? sessions.get(header.substring(7)) : null;
        if (user == null) {
            throw new UnauthorizedResponse("log in first");
        }
        refuseBanned(users.get(user));
        return users.get(user);
    }

    private void refuseBanned(User user) {
        if (banned.contains(user.id())) {
            throw new ForbiddenResponse("this user is banned");
        }
    }

    // Requests

    private static JsonNode body(Context context) {
        try {
            JsonNode body = context.bodyAsClass(JsonNode.class);
            if (body != null && body.isObject()) {
                return body;
            }
        } catch (RuntimeException error) {
            // told below
        }
        throw new BadRequestResponse("this is not a JSON object");
    }

    private static String text(JsonNode body, String name) {
        JsonNode value = body.get(name);
        return value == null || !value.isTextual() ? null : value.asText();
    }

    private static String needed(JsonNode body, String name) {
        String value = text(body, name);
        if (value == null) {
            throw new BadRequestResponse(name + " is needed");
        }
        return value;
    }

    private static String oneOf(Set<String> choices, JsonNode body, String name) {
        String value = needed(body, name);
        if (!choices.contains(value)) {
            throw new BadRequestResponse(name + " is none of " + choices);
        }
        return value;
    }

    private static long number(JsonNode body, String name) {
        JsonNode value = body.get(name);
        if (value == null || !value.isIntegralNumber()) {
            throw new BadRequestResponse(name + " must be a number");
        }
        return value.asLong();
    }

    private static <T> T found(Map<String, T> things, Context context) {
        T thing = things.get(context.pathParam("id"));
        if (thing == null) {
            throw new NotFoundResponse("there is no such thing");
        }
        return thing;
    }
}
