#!/bin/sh
cd "$(dirname "$0")"
[ -d target/dependency ] || mvn -q -DskipTests compile
exec java -XX:TieredStopAtLevel=1 -cp "target/classes:target/dependency/*" com.example.coursescheduling.CourseSchedulingApplication
