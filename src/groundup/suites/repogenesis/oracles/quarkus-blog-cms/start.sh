#!/bin/sh
cd "$(dirname "$0")"
[ -f target/quarkus-app/quarkus-run.jar ] || mvn -q -DskipTests package
exec java -XX:TieredStopAtLevel=1 -jar target/quarkus-app/quarkus-run.jar
