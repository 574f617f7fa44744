package com.example.chatgateway;

import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Who is registered, and how they are. */
@RestController
@RequestMapping("/api/users")
public class People {
    private static final Set<String> STATUSES = Set.of("ONLINE", "OFFLINE", "AWAY");
    private static final long SESSION_S = 3600;

    record Person(String userId, String username, String password, String status, long lastActive) {
        Person with(String newStatus) {
            return new Person(userId, username, password, newStatus, System.currentTimeMillis());
        }
    }

    record Registration(String username, String email, String password) {}

    record Credentials(String username, String password) {}

    record StatusChange(String status) {}

    private final Map<String, Person> people = new ConcurrentHashMap<>();

    Person person(String userId) {
        Person person = userId == null ? null : people.get(userId);
        if (person == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no such user");
        }
        return person;
    }

    @PostMapping("/register")
    Map<String, Object> register(@RequestBody Registration told) {
        if (told.username() == null || told.email() == null || told.password() == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "username, email and password are needed");
        }
        if (people.values().stream().anyMatch(one -> one.username().equals(told.username()))) {
            throw new ResponseStatusException(HttpStatus.CONFLICT, "this name is taken");
        }
        long now = System.currentTimeMillis();
        String id = UUID.randomUUID().toString();
        people.put(id, new Person(id, told.username(), told.password(), "OFFLINE", now));
        return Map.of("userId", id, "username", told.username(), "createdAt", now);
    }

    @PostMapping("/login")
    Map<String, Object> login(@RequestBody Credentials told) {
        for (Person person : people.values()) {
            if (person.username().equals(told.username()) && person.password().equals(told.password())) {
                people.put(person.userId(), person.with("ONLINE"));
                String token = UUID.randomUUID().toString();
                return Map.of("token", token, "userId", person.userId(), "expiresIn", SESSION_S);
            }
        }
        throw new ResponseStatusException(HttpStatus.UNAUTHORIZED, "name or password is wrong");
    }

    @GetMapping("/{userId}/status")
    Map<String, Object> status(@PathVariable("userId") String userId) {
        Person person = person(userId);
        return Map.of("userId", userId, "status", person.status(), "lastActive", person.lastActive());
    }

    @PutMapping("/{userId}/status")
    Map<String, Object> change(@PathVariable("userId") String userId, @RequestBody StatusChange told) {
        if (told.status() == null || !STATUSES.contains(told.status())) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "a status is one of " + STATUSES);
        }
        Person person = person(userId).with(told.status());
        people.put(userId, person);
        return Map.of("userId", userId, "status", person.status(), "updatedAt", person.lastActive());
    }
}
