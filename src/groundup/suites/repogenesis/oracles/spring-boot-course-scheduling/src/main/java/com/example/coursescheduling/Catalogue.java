package com.example.coursescheduling;

import java.util.List;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** What schedules are made of. */
@RestController
@RequestMapping("/api")
public class Catalogue {
    private final School school;

    Catalogue(School school) {
        this.school = school;
    }

    @PostMapping("/terms")
    School.Term addTerm(@RequestBody School.Term told) {
        return school.terms.add(told);
    }

    @GetMapping("/terms")
    List<School.Term> terms() {
        return school.terms.all();
    }

    @GetMapping("/terms/{id}")
    School.Term term(@PathVariable int id) {
        return school.terms.get(id);
    }

    @PutMapping("/terms/{id}")
    School.Term changeTerm(@PathVariable int id, @RequestBody School.Term told) {
        return school.terms.change(id, told);
    }

    @DeleteMapping("/terms/{id}")
    void removeTerm(@PathVariable int id) {
        school.terms.remove(id);
    }

    @PostMapping("/classrooms")
    School.Classroom addClassroom(@RequestBody School.Classroom told) {
        return school.classrooms.add(told);
    }

    @GetMapping("/classrooms")
    List<School.Classroom> classrooms() {
        return school.classrooms.all();
    }

    @GetMapping("/classrooms/{id}")
    School.Classroom classroom(@PathVariable int id) {
        return school.classrooms.get(id);
    }

    @PutMapping("/classrooms/{id}")
    School.Classroom changeClassroom(@PathVariable int id, @RequestBody School.Classroom told) {
        return school.classrooms.change(id, told);
    }

    @DeleteMapping("/classrooms/{id}")
    void removeClassroom(@PathVariable int id) {
        school.classrooms.remove(id);
    }

    @PostMapping("/departments")
    School.Department addDepartment(@RequestBody School.Department told) {
        return school.departments.add(told);
    }

    @GetMapping("/departments")
    List<School.Department> departments() {
        return school.departments.all();
    }

    @DeleteMapping("/departments/{id}")
    void removeDepartment(@PathVariable int id) {
        school.departments.remove(id);
    }

    @PostMapping("/teachers")
    School.Teacher addTeacher(@RequestBody School.Teacher told) {
        school.departments.get(told.departmentId());
        return school.teachers.add(told);
    }

    @GetMapping("/teachers")
    List<School.Teacher> teachers() {
        return school.teachers.all();
    }

    @GetMapping("/teachers/{id}")
    School.Teacher teacher(@PathVariable int id) {
        return school.teachers.get(id);
    }

    @PutMapping("/teachers/{id}")
    School.Teacher changeTeacher(@PathVariable int id, @RequestBody School.Teacher told) {
        school.departments.get(told.departmentId());
        return school.teachers.change(id, told);
    }

    @DeleteMapping("/teachers/{id}")
    void removeTeacher(@PathVariable int id) {
        school.teachers.remove(id);
    }

    @PostMapping("/courses")
    School.Course addCourse(@RequestBody School.Course told) {
        school.departments.get(told.departmentId());
        return school.courses.add(told);
    }

    @GetMapping("/courses")
    List<School.Course> courses() {
        return school.courses.all();
    }

    @GetMapping("/courses/{id}")
    School.Course course(@PathVariable int id) {
        return school.courses.get(id);
    }

    @PutMapping("/courses/{id}")
    School.Course changeCourse(@PathVariable int id, @RequestBody School.Course told) {
        school.departments.get(told.departmentId());
        return school.courses.change(id, told);
    }

    @DeleteMapping("/courses/{id}")
    void removeCourse(@PathVariable int id) {
        school.courses.remove(id);
    }
}
