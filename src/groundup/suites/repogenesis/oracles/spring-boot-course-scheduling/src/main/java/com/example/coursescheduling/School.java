package com.example.coursescheduling;

import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ResponseStatusException;

/** What is taught, by whom, where and when. */
@Component
public class School {
    record Term(int id, String name, String startDate, String endDate) implements Table.Row<Term> {
        @Override
        public Term withId(int number) {
            return new Term(number, needed(name, "name"), startDate, endDate);
        }
    }

    record Classroom(int id, String name, int capacity, String type) implements Table.Row<Classroom> {
        @Override
        public Classroom withId(int number) {
            return new Classroom(number, needed(name, "name"), capacity, type);
        }
    }

    record Department(int id, String name) implements Table.Row<Department> {
        @Override
        public Department withId(int number) {
            return new Department(number, needed(name, "name"));
        }
    }

    record Teacher(int id, String name, int departmentId) implements Table.Row<Teacher> {
        @Override
        public Teacher withId(int number) {
            return new Teacher(number, needed(name, "name"), departmentId);
        }
    }

    record Course(int id, String name, int credits, int departmentId) implements Table.Row<Course> {
        @Override
        public Course withId(int number) {
            return new Course(number, needed(name, "name"), credits, departmentId);
        }
    }

    record Offering(int id, int courseId, int termId, int teacherId, int maxCapacity) implements Table.Row<Offering> {
        @Override
        public Offering withId(int number) {
            return new Offering(number, courseId, termId, teacherId, maxCapacity);
        }
    }

    record Constraint(int id, int teacherId, int dayOfWeek, int period, String type) implements Table.Row<Constraint> {
        @Override
        public Constraint withId(int number) {
            return new Constraint(number, teacherId, dayOfWeek, period, needed(type, "type"));
        }
    }

    final Table<Term> terms = new Table<>();
    final Table<Classroom> classrooms = new Table<>();
    final Table<Department> departments = new Table<>();
    final Table<Teacher> teachers = new Table<>();
    final Table<Course> courses = new Table<>();
    final Table<Offering> offerings = new Table<>();
    final Table<Constraint> constraints = new Table<>();

    private static String needed(String value, String name) {
        if (value == null || value.isBlank()) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, name + " is needed");
        }
        return value;
    }
}
