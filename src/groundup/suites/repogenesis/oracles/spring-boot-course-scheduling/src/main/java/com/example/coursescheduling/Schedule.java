package com.example.coursescheduling;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Which course is taught when and where. */
@RestController
@RequestMapping("/api")
public class Schedule {
    private static final int DAYS = 5;
    private static final int PERIODS = 6;

    record Lesson(int offeringId, int classroomId, int dayOfWeek, int period) {}

    record Automatic(int termId) {}

    private final School school;
    private final Map<Integer, Lesson> lessons = new ConcurrentSkipListMap<>();

    Schedule(School school) {
        this.school = school;
    }

    @PostMapping("/offerings")
    School.Offering offer(@RequestBody School.Offering told) {
        school.courses.get(told.courseId());
        school.terms.get(told.termId());
        school.teachers.get(told.teacherId());
        return school.offerings.add(told);
    }

    @GetMapping("/offerings")
    List<School.Offering> offerings() {
        return school.offerings.all();
    }

    @GetMapping("/offerings/{id}")
    School.Offering offering(@PathVariable int id) {
        return school.offerings.get(id);
    }

    @PostMapping("/constraints")
    School.Constraint constrain(@RequestBody School.Constraint told) {
        school.teachers.get(told.teacherId());
        return school.constraints.add(told);
    }

    @GetMapping("/constraints")
    List<School.Constraint> constraints() {
        return school.constraints.all();
    }

    /** Finds the first room and time for each offering that has none yet. */
    @PostMapping("/schedule/auto")
    synchronized Map<String, Object> automatic(@RequestBody Automatic told) {
        school.terms.get(told.termId());
        int scheduled = 0;
        int failed = 0;
        for (School.Offering offering : school.offerings.all()) {
            if (offering.termId() != told.termId() || lessons.containsKey(offering.id())) {
                continue;
            }
            if (placed(offering)) {
                scheduled++;
            } else {
                failed++;
            }
        }
        String status = failed == 0 ? "SUCCESS" : "PARTIAL";
        return Map.of("status", status, "scheduledCount", scheduled, "failedCount", failed);
    }

    @PostMapping("/schedule/manual")
    synchronized Map<String, Object> manual(@RequestBody Lesson told) {
        school.offerings.get(told.offeringId());
        school.classrooms.get(told.classroomId());
        if (!isFree(told)) {
            throw new ResponseStatusException(HttpStatus.CONFLICT, "the room or the teacher is taken then");
        }
        lessons.put(told.offeringId(), told);
        return Map.of("success", true);
    }

    @GetMapping("/schedule/term/{termId}")
    List<Lesson> ofTerm(@PathVariable int termId) {
        school.terms.get(termId);
        return lessons.values().stream().filter(lesson -> offeringOf(lesson).termId() == termId).toList();
    }

    @GetMapping("/schedule/teacher/{teacherId}")
    List<Lesson> ofTeacher(@PathVariable int teacherId) {
        school.teachers.get(teacherId);
        return lessons.values().stream().filter(lesson -> offeringOf(lesson).teacherId() == teacherId).toList();
    }

    @GetMapping("/schedule/classroom/{classroomId}")
    List<Lesson> ofClassroom(@PathVariable int classroomId) {
        school.classrooms.get(classroomId);
        return lessons.values().stream().filter(lesson -> lesson.classroomId() == classroomId).toList();
    }

    private boolean placed(School.Offering offering) {
        for (School.Classroom room : school.classrooms.all()) {
            for (int day = 1; day <= DAYS && room.capacity() >= offering.maxCapacity(); day++) {
                for (int period = 1; period <= PERIODS; period++) {
                    Lesson lesson = new Lesson(offering.id(), room.id(), day, period);
                    if (isFree(lesson)) {
                        lessons.put(offering.id(), lesson);
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private boolean isFree(Lesson wanted) {
        School.Offering offering = offeringOf(wanted);
        return lessons.values().stream().noneMatch(lesson -> clash(lesson, wanted, offering))
                && school.constraints.all().stream().noneMatch(constraint -> constraint.type().equals("UNAVAILABLE")
                        && constraint.teacherId() == offering.teacherId()
                        && constraint.dayOfWeek() == wanted.dayOfWeek() && constraint.period() == wanted.period());
    }

    private boolean clash(Lesson lesson, Lesson wanted, School.Offering offering) {
        School.Offering other = offeringOf(lesson);
        return other.id() != offering.id() && other.termId() == offering.termId()
                && lesson.dayOfWeek() == wanted.dayOfWeek() && lesson.period() == wanted.period()
                && (lesson.classroomId() == wanted.classroomId() || other.teacherId() == offering.teacherId());
    }

    private School.Offering offeringOf(Lesson lesson) {
        return school.offerings.get(lesson.offeringId());
    }
}
