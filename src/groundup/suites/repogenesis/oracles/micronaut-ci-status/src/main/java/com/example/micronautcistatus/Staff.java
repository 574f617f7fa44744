package com.example.micronautcistatus;

import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Put;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.exceptions.HttpStatusException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** Who builds and who looks on: agents, users, and the system itself. */
@Controller
public class Staff {
    private static final Set<String> STATUSES = Set.of("IDLE", "BUSY", "OFFLINE");

    @Introspected
    public record Registration(@Nullable String name, @Nullable List<String> capabilities) {}

    @Introspected
    public record Agent(String id, String name, List<String> capabilities, String status, String lastHeartbeat) {}

    @Introspected
    public record AgentStatus(@Nullable String status) {}

    @Introspected
    public record User(
            @Nullable String id, @Nullable String username, @Nullable String email, @Nullable String role) {}

    private final String started = Instant.now().toString();
    private final Shelf<Agent> agents = new Shelf<>();
    private final Shelf<User> users = new Shelf<>();

    @Get("/agents")
    public List<Agent> listAgents() {
        return agents.all();
    }

    @Post("/agents")
    @Status(HttpStatus.CREATED)
    public Map<String, String> register(@Body Registration told) {
        String name = Shelf.needed(told.name(), "name");
        List<String> capabilities = told.capabilities() == null ? List.of() : told.capabilities();
        Agent made = agents.add(id -> new Agent(id, name, capabilities, "IDLE", Instant.now().toString()));
        return Map.of("id", made.id(), "name", name, "token", UUID.randomUUID().toString());
    }

    @Get("/agents/{id}")
    public Agent agent(String id) {
        return agents.get(id);
    }

    @Put("/agents/{id}/status")
    public Agent updateAgent(String id, @Body AgentStatus told) {
        Agent old = agents.get(id);
        String status = Shelf.needed(told.status(), "status");
        if (!STATUSES.contains(status)) {
            throw new HttpStatusException(HttpStatus.BAD_REQUEST, "status is none of " + STATUSES);
        }
        return agents.change(id, new Agent(id, old.name(), old.capabilities(), status, Instant.now().toString()));
    }

    @Get("/users")
    public List<User> listUsers() {
        return users.all();
    }

    @Post("/users")
    @Status(HttpStatus.CREATED)
    public User createUser(@Body User told) {
        String name = Shelf.needed(told.username(), "username");
        return users.add(id -> new User(id, name, told.email(), told.role() == null ? "USER" : told.role()));
    }

    @Get("/users/{id}")
    public User user(String id) {
        return users.get(id);
    }

    @Get("/system/health")
    public Map<String, String> health() {
        return Map.of("status", "UP", "db", "UP", "queue", "UP");
    }

    @Get("/system/version")
    public Map<String, String> version() {
        return Map.of("version", "1.0.0", "buildDate", started);
    }
}
