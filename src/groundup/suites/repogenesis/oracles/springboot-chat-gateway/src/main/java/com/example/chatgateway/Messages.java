package com.example.chatgateway;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Messages between two people. */
@RestController
@RequestMapping("/api/messages")
public class Messages {
    record Message(String messageId, String senderId, String recipientId, String content, long timestamp) {
        boolean between(Set<String> both) {
            return both.equals(Set.of(senderId, recipientId)) || (both.size() == 1 && senderId.equals(recipientId));
        }
    }

    record Sent(String senderId, String recipientId, String content, String type) {}

    private final People people;
    private final List<Message> messages = new CopyOnWriteArrayList<>();

    Messages(People people) {
        this.people = people;
    }

    @PostMapping("/send")
    Map<String, Object> send(@RequestBody Sent told) {
        people.person(told.senderId());
        people.person(told.recipientId());
        if (told.content() == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "content is needed");
        }
        Message made = new Message(
                UUID.randomUUID().toString(), told.senderId(), told.recipientId(), told.content(),
                System.currentTimeMillis());
        messages.add(made);
        return Map.of("messageId", made.messageId(), "timestamp", made.timestamp(), "status", "SENT");
    }

    @GetMapping("/history")
    Map<String, Object> history(
            @RequestParam("userId1") String first,
            @RequestParam("userId2") String second,
            @RequestParam(name = "limit", defaultValue = "50") int limit,
            @RequestParam(name = "before", defaultValue = "" + Long.MAX_VALUE) long before) {
        Set<String> both = first.equals(second) ? Set.of(first) : Set.of(first, second);
        List<Message> found = messages.stream()
                .filter(message -> message.between(both) && message.timestamp() < before)
                .limit(limit)
                .toList();
        return Map.of("messages", found);
    }
}
