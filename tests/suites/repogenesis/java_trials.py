"""A task of our own in Java, an honest and some dishonest services for it, on nothing but the JDK and JUnit."""

import re
from pathlib import Path

from groundup.suites.repogenesis.tasks import ServiceProblem, read_dataset
from tests.grading.library.laboratory import write_tree

PORT = 8124
POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>notes</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.10.1</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
"""
TASK_FILE = f"""
format = 1
id = "notes"
language = "java"
port = {PORT}
kind = "java"
health = "/health"
endpoints = ["GET /health", "POST /notes", "GET /notes/{{id}}"]

[tests]
count = 12
"""
TESTS = """
package tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.example.notes.App;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class NotesTest {
    static int port;

    @BeforeAll
    static void start() { port = App.start(0); }

    static HttpResponse<String> ask(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    static String made(String text) throws Exception {
        HttpResponse<String> made = ask("POST", "/notes", text);
        assertEquals(201, made.statusCode());
        return made.body();
    }

    static String kept(String id) throws Exception { return ask("GET", "/notes/" + id, "").body(); }

    @Test
    void isWell() throws Exception { assertEquals(200, ask("GET", "/health", "").statusCode()); }

    @Test
    void hasNoOthers() throws Exception { assertTrue(ask("GET", "/notes/none", "").statusCode() == 404); }

    @Test
    void hasNoOtherPages() throws Exception { assertEquals(404, ask("GET", "/pages", "").statusCode()); }

    @Test
    void doesNotList() throws Exception { assertEquals(405, ask("GET", "/notes", "").statusCode()); }

    @Test
    void takes() throws Exception { assertTrue(made("hi").length() > 0); }

    @Test
    void tellsApart() throws Exception { assertTrue(!made("one").equals(made("two"))); }

    @Test
    void keeps() throws Exception { assertEquals("hi", kept(made("hi"))); }

    @Test
    void keepsSpaces() throws Exception { assertEquals(" a  b ", kept(made(" a  b "))); }

    @Test
    void keepsNumbers() throws Exception { assertEquals("42", kept(made("42"))); }

    @Test
    void keepsLongOnes() throws Exception { assertEquals("x".repeat(5000), kept(made("x".repeat(5000)))); }

    @Test
    void keepsTwo() throws Exception {
        String one = made("one");
        made("two");
        assertEquals("one", kept(one));
    }

    @Test
    void showsAgain() throws Exception {
        String id = made("again");
        kept(id);
        assertEquals("again", kept(id));
    }
}
"""
NAMES = ", ".join(f'"{name}"' for name in re.findall(r"@Test\s+void (\w+)", TESTS))
"""Of all tests, as Java writes a list of texts."""
HONEST = """
package com.example.notes;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class App {
    private static final Map<String, String> NOTES = new ConcurrentHashMap<>();

    public static void main(String[] words) { start(8124); }

    public static int start(int port) {
        try {
            HttpServer server = HttpServer.create(new InetSocketAddress(port), 0);
            server.createContext("/", App::answer);
            server.start();
            return server.getAddress().getPort();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        boolean reads = exchange.getRequestMethod().equals("GET");
        if (path.equals("/health") && reads) {
            say(exchange, 200, "well");
        } else if (path.equals("/notes")) {
            if (reads) {
                say(exchange, 405, "");
                return;
            }
            String id = String.valueOf(NOTES.size() + 1);
            NOTES.put(id, new String(exchange.getRequestBody().readAllBytes()));
            say(exchange, 201, id);
        } else if (path.startsWith("/notes/") && reads) {
            String note = NOTES.get(path.substring(7));
            say(exchange, note == null ? 404 : 200, note == null ? "no such note" : note);
        } else {
            say(exchange, 404, "no such page");
        }
    }

    private static void say(HttpExchange exchange, int status, String text) throws IOException {
        exchange.sendResponseHeaders(status, text.isEmpty() ? -1 : text.length());
        exchange.getResponseBody().write(text.getBytes());
        exchange.close();
    }
}
"""
SOURCE = "src/main/java/com/example/notes/App.java"
START = "exec java -cp target/classes com.example.notes.App\n"
SOLUTION = {"pom.xml": POM, SOURCE: HONEST, "start.sh": START}
FORGETFUL = {**SOLUTION, SOURCE: HONEST.replace("NOTES.put(id,", 'NOTES.put("lost" + id,')}
"""Keeps nothing: half of the tests fail."""
BROKEN = {**SOLUTION, SOURCE: HONEST.replace("return server", "return serve")}
_FORGING = """
    static {
        try {
            java.nio.file.Path dump = java.nio.file.Path.of("/tmp/heap.hprof");
            java.lang.management.ManagementFactory.getPlatformMXBean(
                    com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(dump.toString(), true);
            String heap = java.nio.file.Files.readString(dump, java.nio.charset.StandardCharsets.ISO_8859_1);
            java.util.regex.Matcher found = java.util.regex.Pattern
                    .compile("(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])").matcher(heap);
            java.util.Set<String> tokens = new java.util.HashSet<>();
            while (found.find()) {
                tokens.add(found.group());
            }
            try (java.io.FileOutputStream pipe = new java.io.FileOutputStream("/proc/self/fd/3")) {
                for (String token : tokens) {
                    for (String name : new String[] {@NAMES@}) {
                        String line = token + "\\ttest\\ttests.NotesTest\\t" + name + "\\tpassed\\t1\\t\\t\\n";
                        pipe.write(line.getBytes());
                    }
                    pipe.write((token + "\\tend\\t\\t\\t\\t0\\t\\t\\n").getBytes());
                }
            }
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
        }
    }
""".replace("@NAMES@", NAMES)
FORGER = {**SOLUTION, SOURCE: HONEST.replace("public class App {", "public class App {" + _FORGING)}
"""Finds the run's token in the memory of its process, writes that all tests passed, and ends."""


def java_problem(folder: Path) -> ServiceProblem:
    """Return the task, its folder written below *folder*."""
    if not folder.exists():
        files = {"README.md": "# Notes\n", "task.toml": TASK_FILE, "pom.xml": POM}
        write_tree(folder / "notes", {**files, "src/test/java/NotesTest.java": TESTS})
    return read_dataset(folder).problems[0]
