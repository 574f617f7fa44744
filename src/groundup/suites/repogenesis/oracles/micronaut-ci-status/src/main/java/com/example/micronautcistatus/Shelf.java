package com.example.micronautcistatus;

import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Function;

/** Things by their id, in the order in which they came. */
class Shelf<T> {
    private final Map<String, T> things = new ConcurrentHashMap<>();
    private final ConcurrentLinkedDeque<String> order = new ConcurrentLinkedDeque<>();

    T add(Function<String, T> make) {
        String id = UUID.randomUUID().toString();
        T thing = make.apply(id);
        things.put(id, thing);
        order.add(id);
        return thing;
    }

    T get(String id) {
        T thing = things.get(id);
        if (thing == null) {
            throw new HttpStatusException(HttpStatus.NOT_FOUND, "there is no such thing");
        }
        return thing;
    }

    T change(String id, T thing) {
        get(id);
        things.put(id, thing);
        return thing;
    }

    void remove(String id) {
        get(id);
        order.remove(id);
        things.remove(id);
    }

    List<T> all() {
        return order.stream().map(things::get).toList();
    }

    static String needed(String value, String name) {
        if (value == null || value.isBlank()) {
            throw new HttpStatusException(HttpStatus.BAD_REQUEST, name + " is needed");
        }
        return value;
    }
}
