package com.example.coursescheduling;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.http.HttpStatus;
import org.springframework.web.server.ResponseStatusException;

/** Rows of one kind by their number. */
class Table<T extends Table.Row<T>> {
    interface Row<T> {
        T withId(int id);
    }

    private final Map<Integer, T> rows = new ConcurrentSkipListMap<>();
    private final AtomicInteger last = new AtomicInteger();

    T add(T told) {
        int id = last.incrementAndGet();
        rows.put(id, told.withId(id));
        return rows.get(id);
    }

    T get(int id) {
        T row = rows.get(id);
        if (row == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no number " + id);
        }
        return row;
    }

    T change(int id, T told) {
        get(id);
        T changed = told.withId(id);
        rows.put(id, changed);
        return changed;
    }

    void remove(int id) {
        get(id);
        rows.remove(id);
    }

    List<T> all() {
        return List.copyOf(rows.values());
    }
}
