package com.example.chatgateway;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Groups, who is in them and what is said there. */
@RestController
@RequestMapping("/api/groups")
public class Groups {
    record Creation(String creatorId, String name, String description) {}

    record Membership(String userId) {}

    record Said(String senderId, String content, String type) {}

    private static final class Group {
        private final Map<String, String> roles = new LinkedHashMap<>();
        private final List<Said> said = new ArrayList<>();
    }

    private final People people;
    private final Map<String, Group> groups = new ConcurrentHashMap<>();

    Groups(People people) {
        this.people = people;
    }

    @PostMapping("/create")
    Map<String, Object> create(@RequestBody Creation told) {
        people.person(told.creatorId());
        if (told.name() == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "name is needed");
        }
        Group group = new Group();
        group.roles.put(told.creatorId(), "OWNER");
        String id = UUID.randomUUID().toString();
        groups.put(id, group);
        return Map.of("groupId", id, "name", told.name(), "createdAt", System.currentTimeMillis());
    }

    @PostMapping("/{groupId}/join")
    Map<String, Object> join(@PathVariable("groupId") String groupId, @RequestBody Membership told) {
        Group group = group(groupId);
        people.person(told.userId());
        synchronized (group) {
            group.roles.putIfAbsent(told.userId(), "MEMBER");
        }
        long now = System.currentTimeMillis();
        return Map.of("groupId", groupId, "userId", told.userId(), "role", "MEMBER", "joinedAt", now);
    }

    @PostMapping("/{groupId}/leave")
    Map<String, Object> leave(@PathVariable("groupId") String groupId, @RequestBody Membership told) {
        Group group = group(groupId);
        people.person(told.userId());
        synchronized (group) {
            boolean left = group.roles.remove(told.userId()) != null;
            return Map.of("success", left, "message", left ? "left" : "was no member");
        }
    }

    @PostMapping("/{groupId}/messages")
    Map<String, Object> say(@PathVariable("groupId") String groupId, @RequestBody Said told) {
        Group group = group(groupId);
        synchronized (group) {
            if (!group.roles.containsKey(told.senderId())) {
                throw new ResponseStatusException(HttpStatus.FORBIDDEN, "only members may speak");
            }
            group.said.add(told);
        }
        String id = UUID.randomUUID().toString();
        return Map.of("messageId", id, "groupId", groupId, "timestamp", System.currentTimeMillis());
    }

    @GetMapping("/{groupId}/members")
    Map<String, Object> members(@PathVariable("groupId") String groupId) {
        Group group = group(groupId);
        List<Map<String, Object>> members = new ArrayList<>();
        synchronized (group) {
            group.roles.forEach((user, role) -> members.add(
                    Map.of("userId", user, "username", people.person(user).username(), "role", role)));
        }
        return Map.of("groupId", groupId, "members", members);
    }

    private Group group(String groupId) {
        Group group = groups.get(groupId);
        if (group == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no such group");
        }
        return group;
    }
}
