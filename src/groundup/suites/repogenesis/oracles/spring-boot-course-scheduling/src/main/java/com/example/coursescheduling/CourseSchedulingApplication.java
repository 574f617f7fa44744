package com.example.coursescheduling;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Courses of a university and when and where they are taught, in memory. */
@SpringBootApplication
public class CourseSchedulingApplication {
    public static void main(String[] words) {
        SpringApplication.run(CourseSchedulingApplication.class, words);
    }
}
