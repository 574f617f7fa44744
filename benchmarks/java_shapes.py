"""Java services of many shapes, for `benchmarks.service_shapes --lang java`: one small task, solved or not.

The task wants notes over HTTP on port 8124, and a class of them. Its hidden tests start the service themselves, as
the published ones do, so one that Maven compiles gets its points even where its own start fails.
"""

from benchmarks.python_shapes import Shape

PORT = 8124
TASK_FILE = f"""
format = 1
id = "notes"
language = "java"
port = {PORT}
kind = "java"
health = "/health"
endpoints = ["GET /health", "GET /notes", "POST /notes"]

[tests]
count = 4
"""
README = (
    "# Notes\n\n`GET /health`, `GET /notes`, `POST /notes` with a text. `app.Notes` has `int add(String)` and "
    "`String get(int)`; `app.Main.start(int port)` returns an `AutoCloseable`.\n"
)
TESTS = """
package app;

import static org.junit.jupiter.api.Assertions.*;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.*;
import org.junit.jupiter.api.Test;

class NotesTest {
    @Test void adds() { assertEquals(1, new Notes().add("hi")); }

    @Test void finds() { Notes notes = new Notes(); assertEquals("hi", notes.get(notes.add("hi"))); }

    @Test void unknown() { assertNull(new Notes().get(7)); }

    @Test void healthy() throws Exception {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) { port = socket.getLocalPort(); }
        try (AutoCloseable service = Main.start(port)) {
            HttpRequest asked = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/health")).build();
            HttpClient client = HttpClient.newHttpClient();
            assertEquals(200, client.send(asked, HttpResponse.BodyHandlers.ofString()).statusCode());
        }
    }
}
"""
NOTES = """
package app;

import java.util.ArrayList;
import java.util.List;

public class Notes {
    private final List<String> texts = new ArrayList<>();

    public synchronized int add(String text) { texts.add(text); return texts.size(); }

    public synchronized String get(int number) {
        return number >= 1 && number <= texts.size() ? texts.get(number - 1) : null;
    }

    public synchronized int size() { return texts.size(); }
}
"""
MAIN = f"""
package app;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Main {{
    static void tell(HttpExchange asked, int status, String text) throws IOException {{
        byte[] body = text.getBytes();
        asked.sendResponseHeaders(status, body.length);
        asked.getResponseBody().write(body);
        asked.close();
    }}

    static void answer(HttpExchange asked, Notes notes) throws IOException {{
        String path = asked.getRequestURI().getPath(), method = asked.getRequestMethod();
        boolean reads = method.equals("GET");
        if (path.equals("/health")) tell(asked, reads ? 200 : 405, "ok");
        else if (path.equals("/notes") && reads) tell(asked, 200, notes.size() + " notes");
        else if (path.equals("/notes") && method.equals("POST"))
            tell(asked, 201, "number " + notes.add(new String(asked.getRequestBody().readAllBytes())));
        else tell(asked, path.equals("/notes") ? 405 : 404, "no such page");
    }}

    public static AutoCloseable start(int port) throws IOException {{
        String host = System.getenv().getOrDefault("HOST", "0.0.0.0");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName(host), port), 0);
        Notes notes = new Notes();
        server.createContext("/", asked -> answer(asked, notes));
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        return () -> server.stop(0);
    }}

    public static void main(String[] words) throws Exception {{
        start(Integer.parseInt(System.getenv().getOrDefault("PORT", "{PORT}")));
    }}
}}
"""
JAVALIN = f"""
package app;

import io.javalin.Javalin;

public class Main {{
    public static AutoCloseable start(int port) {{
        Notes notes = new Notes();
        Javalin app = Javalin.create().start(port);
        app.get("/health", asked -> asked.result("ok"));
        app.get("/notes", asked -> asked.result(notes.size() + " notes"));
        app.post("/notes", asked -> asked.status(201).result("number " + notes.add(asked.body())));
        return app::stop;
    }}

    public static void main(String[] words) {{ start({PORT}); }}
}}
"""
SPARK = f"""
package app;

import spark.Service;

public class Main {{
    public static AutoCloseable start(int port) {{
        Notes notes = new Notes();
        Service app = Service.ignite().port(port);
        app.get("/health", (asked, answer) -> "ok");
        app.get("/notes", (asked, answer) -> notes.size() + " notes");
        app.post("/notes", (asked, answer) -> {{
            answer.status(201);
            return "number " + notes.add(asked.body());
        }});
        app.awaitInitialization();
        return () -> {{ app.stop(); app.awaitStop(); }};
    }}

    public static void main(String[] words) {{ start({PORT}); }}
}}
"""
SPRING = f"""
package app;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.*;

@SpringBootApplication
@RestController
public class Main {{
    private final Notes notes = new Notes();

    @GetMapping("/health") String health() {{ return "ok"; }}

    @GetMapping("/notes") String list() {{ return notes.size() + " notes"; }}

    @PostMapping("/notes") @ResponseStatus(HttpStatus.CREATED)
    String add(@RequestBody(required = false) String text) {{ return "number " + notes.add(text); }}

    public static AutoCloseable start(int port) {{
        SpringApplication app = new SpringApplication(Main.class);
        app.setDefaultProperties(Map.of("server.port", port));
        return app.run();
    }}

    public static void main(String[] words) {{ start({PORT}); }}
}}
"""
VERTX = f"""
package app;

import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;

public class Main {{
    public static AutoCloseable start(int port) throws Exception {{
        Notes notes = new Notes();
        Vertx vertx = Vertx.vertx();
        Router router = Router.router(vertx);
        router.route().handler(BodyHandler.create());
        router.get("/health").handler(asked -> asked.end("ok"));
        router.get("/notes").handler(asked -> asked.end(notes.size() + " notes"));
        router.post("/notes").handler(asked -> asked.response().setStatusCode(201)
            .end("number " + notes.add(asked.body().asString())));
        vertx.createHttpServer().requestHandler(router).listen(port).toCompletionStage().toCompletableFuture().get();
        return () -> vertx.close().toCompletionStage().toCompletableFuture().get();
    }}

    public static void main(String[] words) throws Exception {{ start({PORT}); }}
}}
"""
JETTY = f"""
package app;

import jakarta.servlet.http.*;
import java.io.IOException;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.server.handler.AbstractHandler;

public class Main {{
    public static AutoCloseable start(int port) throws Exception {{
        Notes notes = new Notes();
        Server server = new Server(port);
        server.setHandler(new AbstractHandler() {{
            @Override
            public void handle(String path, Request base, HttpServletRequest asked, HttpServletResponse answer)
                throws IOException {{
                base.setHandled(true);
                boolean reads = asked.getMethod().equals("GET");
                if (path.equals("/health")) answer.setStatus(reads ? 200 : 405);
                else if (path.equals("/notes") && reads) answer.getWriter().print(notes.size() + " notes");
                else if (path.equals("/notes") && asked.getMethod().equals("POST")) {{
                    answer.setStatus(201);
                    answer.getWriter().print("number " + notes.add(asked.getReader().readLine()));
                }} else answer.setStatus(path.equals("/notes") ? 405 : 404);
            }}
        }});
        server.start();
        return server::stop;
    }}

    public static void main(String[] words) throws Exception {{ start({PORT}); }}
}}
"""
KOTLIN = (
    "<plugin><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-maven-plugin</artifactId>"
    "<version>1.9.24</version><executions><execution><phase>process-sources</phase><goals><goal>compile</goal></goals>"
    "<configuration><sourceDirs><dir>src/main/kotlin</dir></sourceDirs></configuration></execution></executions>"
    "</plugin>"
)
JUNIT = (
    "<dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10.2</version>"
    "<scope>test</scope></dependency>"
)
BOOT = (
    "<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId>"
    "<version>3.2.0</version></parent>"
)
COPIED = (
    "<plugin><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version><executions><execution>"
    "<phase>compile</phase><goals><goal>copy-dependencies</goal></goals><configuration>"
    "<includeScope>runtime</includeScope></configuration></execution></executions></plugin>"
)
JAR = (
    "<plugin><artifactId>maven-jar-plugin</artifactId><version>3.3.0</version><configuration><archive><manifest>"
    "<mainClass>app.Main</mainClass></manifest></archive></configuration></plugin>"
)
EXEC = (
    "<plugin><groupId>org.codehaus.mojo</groupId><artifactId>exec-maven-plugin</artifactId><version>3.1.0</version>"
    "<configuration><mainClass>app.Main</mainClass></configuration></plugin>"
)
SHADE = (
    "<plugin><artifactId>maven-shade-plugin</artifactId><version>3.5.1</version><executions><execution>"
    "<phase>package</phase><goals><goal>shade</goal></goals></execution></executions></plugin>"
)
RUN = 'exec java -cp "target/classes:target/dependency/*" app.Main\n'
CLASS_PATH = f'cd "$(dirname "$0")"\n{RUN}'
TESTED = "<plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>"


def dependency(group: str, name: str, version: str, more: str = "") -> str:
    """Return an element of a pom.xml."""
    number = f"<version>{version}</version>" if version else ""
    return f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>{number}{more}</dependency>"


def pom(
    dependencies: str = "", plugins: str = "", *, parent: str = "", properties: str = "", more: str = ""
) -> str:
    """Return a pom.xml."""
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"{parent}<groupId>app</groupId><artifactId>notes</artifactId><version>1</version>{more}"
        "<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17"
        "</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>"
        f"{properties}</properties><dependencies>{dependencies}{JUNIT}</dependencies>"
        f"<build><plugins>{plugins}{TESTED}</plugins></build></project>"
    )


def java(
    cause: str | None = None, *, main: str | None = MAIN, notes: str | None = NOTES, **other: str | None
) -> Shape:
    """Return the plain service with these files in place of its own; None leaves one out.

    *start* is its script, *build* its pom.xml.
    """
    files = {
        "src/main/java/app/Main.java": main,
        "src/main/java/app/Notes.java": notes,
        "start.sh": other.pop("start", CLASS_PATH),
        "pom.xml": other.pop("build", pom()),
        **other,
    }
    return Shape({name: text for name, text in files.items() if text is not None}, cause)


def changed(old: str, new: str, text: str = MAIN) -> str:
    """Return *text* with something else in one place, which it must have."""
    assert old in text, old
    return text.replace(old, new)


def before(statement: str) -> str:
    """Return the service that does something else first when it is started on its own."""
    return changed("throws Exception {\n", f"throws Exception {{\n        {statement}\n")


SLF4J = dependency("org.slf4j", "slf4j-simple", "2.0.9")
WEB = dependency("org.springframework.boot", "spring-boot-starter-web", "")
GSON = dependency("com.google.code.gson", "gson", "2.10.1")
USES_GSON = changed('"no such page"', 'new com.google.gson.Gson().toJson("no such page")')
LOMBOK = dependency("org.projectlombok", "lombok", "1.18.30", "<scope>provided</scope>")
BOM = (
    "<dependencyManagement><dependencies>"
    + dependency("com.fasterxml.jackson", "jackson-bom", "2.15.2", "<type>pom</type><scope>import</scope>")
    + "</dependencies></dependencyManagement>"
)
WRONG_ADD = changed(
    "return texts.size(); }\n\n    public synchronized String",
    "return 0; }\n\n    public synchronized String",
    NOTES,
)
SHAPES: dict[str, Shape] = {
    # frameworks
    "the JDK's own server": java(),
    "javalin": java(main=JAVALIN, build=pom(dependency("io.javalin", "javalin", "6.1.3") + SLF4J, COPIED)),
    "spark": java(main=SPARK, build=pom(dependency("com.sparkjava", "spark-core", "2.9.4") + SLF4J, COPIED)),
    "spring boot": java(main=SPRING, build=pom(WEB, COPIED, parent=BOOT)),
    "spring boot without a script": java(
        main=SPRING,
        start=None,
        build=pom(
            WEB,
            "<plugin><groupId>org.springframework.boot</groupId><artifactId>spring-boot-maven-plugin</artifactId>"
            "</plugin>",
            parent=BOOT,
        ),
    ),
    # builds
    "gson": java(main=USES_GSON, build=pom(GSON, COPIED)),
    "versions in properties": java(
        main=USES_GSON,
        build=pom(
            dependency("com.google.code.gson", "gson", "${gson.version}"),
            COPIED,
            properties="<gson.version>2.10.1</gson.version>",
        ),
    ),
    "versions of a bill of materials": java(
        main=changed(
            '"no such page"', 'new com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString("no")'
        ),
        build=pom(dependency("com.fasterxml.jackson.core", "jackson-databind", ""), COPIED, more=BOM),
    ),
    "an annotation processor": java(
        build=pom(LOMBOK),
        **{"src/main/java/app/Label.java": "package app;\n\n@lombok.Value\nclass Label {\n    String text;\n}\n"},
        main=changed('"no such page"', 'new Label("no such page").getText()'),
    ),
    "a resource": java(
        main=changed('"no such page"', 'new String(Main.class.getResourceAsStream("/words.txt").readAllBytes())'),
        **{"src/main/resources/words.txt": "no such page"},
    ),
    "the release by the compiler's own setting": java(
        build=pom(
            plugins="<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.11.0</version>"
            "<configuration><release>11</release></configuration></plugin>"
        )
    ),
    "records and sealed interfaces": java(
        **{
            "src/main/java/app/Answer.java": "package app;\n\nsealed interface Answer permits Yes, No {}\n\n"
            "record Yes(String text) implements Answer {}\n\nrecord No() implements Answer {}\n"
        }
    ),
    "a module": java(**{"src/main/java/module-info.java": "module notes {\n    requires jdk.httpserver;\n}\n"}),
    "tests of its own that fail": java(
        **{
            "src/test/java/app/OwnTest.java": "package app;\n\nclass OwnTest {\n    @org.junit.jupiter.api.Test\n"
            '    void no() { throw new IllegalStateException("own"); }\n}\n'
        }
    ),
    "a test of its own under a hidden one's name": java(
        **{"src/test/java/app/NotesTest.java": "package app;\n\nclass NotesTest {}\n"}
    ),
    # ways to start
    "compiled by the script": java(
        start='cd "$(dirname "$0")"\nmvn -q -DskipTests compile\nexec java -cp target/classes app.Main\n'
    ),
    "packaged by the script": java(
        start="mvn -q -DskipTests package && java -jar target/notes-1.jar\n", build=pom(plugins=JAR)
    ),
    "a shaded jar": java(
        main=USES_GSON,
        start="mvn -q package -DskipTests\nexec java -cp target/notes-1.jar app.Main\n",
        build=pom(GSON, SHADE),
    ),
    "exec:java": java(start="exec mvn -q exec:java\n", build=pom(plugins=EXEC)),
    "compiled by javac": java(
        start="mkdir -p out && javac -d out $(find src/main -name '*.java')\njava -cp out app.Main\n"
    ),
    "script in scripts": java(start=None, **{"scripts/start.sh": 'cd "$(dirname "$0")/.."\n' + RUN}),
    "script is a link": java(start="-> deploy/run.sh", **{"deploy/run.sh": RUN}),
    "daemon": java(start="nohup java -cp target/classes app.Main > log 2>&1 &\n"),
    "background and wait": java(start="java -cp target/classes app.Main &\nwait\n"),
    "starts late": java(start=f"sleep 12\n{CLASS_PATH}"),
    "sleeps 19 s": java(start=f"sleep 19\n{CLASS_PATH}"),
    "restarted after a crash": java(
        start="until java -cp target/classes app.Main; do sleep 1; done\n",
        main=before('if (new java.io.File("once").createNewFile()) System.exit(1);'),
    ),
    "port of the variable": java(start=f"export PORT=$SERVICE_PORT\n{CLASS_PATH}"),
    "on localhost only": java(start=f"export HOST=127.0.0.1\n{CLASS_PATH}"),
    "both internet protocols": java(start=f"export HOST=::\n{CLASS_PATH}"),
    "writes everywhere": java(start=f"mkdir -p /data /var/log/notes && touch /data/x ~/.notes\n{CLASS_PATH}"),
    "reads its input to the end": java(start=f"cat > /dev/null\n{CLASS_PATH}"),
    "much output": java(main=before('System.out.println("x".repeat(3_000_000));')),
    "a heap of its own": java(start="exec java -Xmx256m -cp target/classes app.Main\n"),
    # faults of builds
    "nothing": Shape({"README.md": "x"}, "pom.xml"),
    "no pom.xml": java("no pom.xml", build=None),
    "half a pom.xml": java(r"pom\.xml", build=pom()[:300]),
    "gradle": java("no pom.xml", build=None, **{"build.gradle": "plugins { id 'java' }\n", "settings.gradle": ""}),
    "unknown dependency": java("no-such-thing", build=pom(dependency("app.nowhere", "no-such-thing", "1"))),
    "unknown version": java("gson.*99.9", build=pom(dependency("com.google.code.gson", "gson", "99.9"))),
    "unknown parent": java(
        "no-parent",
        build=pom(
            parent="<parent><groupId>app.nowhere</groupId><artifactId>no-parent</artifactId><version>1</version></parent>"
        ),
    ),
    "unknown plugin": java(
        "no-plugin",
        build=pom(
            plugins="<plugin><groupId>app.nowhere</groupId><artifactId>no-plugin</artifactId><version>1</version><executions><execution><phase>compile</phase><goals><goal>x</goal></goals></execution></executions></plugin>"
        ),
    ),
    "a newer release of Java": java(
        "21",
        build=pom(
            plugins="<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.11.0</version>"
            "<configuration><release>21</release></configuration></plugin>"
        ),
    ),
    "does not parse": java(
        r"Notes\.java.*(';'|expected)", notes=changed("texts.size(); }", "texts.size() }", NOTES)
    ),
    "unknown symbol": java(
        r"Notes\.java.*cannot find symbol", notes=changed("texts.add(text)", "texte.add(text)", NOTES)
    ),
    "a package that is not declared": java(r"package com\.google\.gson does not exist", main=USES_GSON),
    "only for tests": java(
        r"package com\.google\.gson does not exist",
        main=USES_GSON,
        build=pom(dependency("com.google.code.gson", "gson", "2.10.1", "<scope>test</scope>")),
    ),
    "a class twice": java(
        "duplicate class", **{"src/main/java/app/More.java": NOTES.replace("public class", "class")}
    ),
    # faults that hidden tests find
    "class missing": java(
        "Notes",
        notes=None,
        main=changed("Notes notes = new Notes();", "Object notes = 1;")
        .replace("Notes notes)", "Object notes)")
        .replace("notes.size()", "1")
        .replace("notes.add(", "("),
    ),
    "another signature": java(
        "incompatible types|cannot be converted",
        notes=changed(
            "int add(String text) { texts.add(text); return texts.size();",
            'String add(String text) { texts.add(text); return "";',
            NOTES,
        ),
    ),
    "another package": java(
        "package|cannot find symbol|app",
        main=changed("package app;", "package service;"),
        notes=changed("package app;", "package service;", NOTES),
        start=CLASS_PATH.replace("app.Main", "service.Main"),
    ),
    "wrong number": java("expected: <1> but was: <0>", notes=WRONG_ADD),
    "throws": java(
        "IllegalStateException: full",
        notes=changed(
            "{ texts.add(text);", '{ if (true) throw new IllegalStateException("full"); texts.add(text);', NOTES
        ),
    ),
    "null": java("NullPointerException", notes=changed("= new ArrayList<>();", "= null;", NOTES)),
    "no end of calls": java(
        "StackOverflowError",
        notes=changed("{ texts.add(text); return texts.size(); }", "{ return add(text); }", NOTES),
    ),
    "ends the process": java(
        "exit|ended", notes=changed("{ texts.add(text);", "{ System.exit(3); texts.add(text);", NOTES)
    ),
    # faults of starts
    "another port": java(r"listens on .*:5000", start=f"export PORT=5000\n{CLASS_PATH}"),
    "another address": java(f"listens on 127.0.0.9:{PORT}", start=f"export HOST=127.0.0.9\n{CLASS_PATH}"),
    "IPv6 only": java(rf"listens on \[::1\]:{PORT}", start=f"export HOST=::1\n{CLASS_PATH}"),
    "no such program": java("no-such-program.*not found", start="exec no-such-program\n"),
    "no such class": java(
        r"Could not find or load main class app\.Mian", start=CLASS_PATH.replace("Main", "Mian")
    ),
    "no main": java(
        "Main method not found|main method", main=changed("public static void main", "public static void begin")
    ),
    "no such jar": java("notes-2.jar", start="exec java -jar target/notes-2.jar\n"),
    "throws at its start": java(
        "IllegalStateException: no store", main=before('if (true) throw new IllegalStateException("no store");')
    ),
    "wants a variable": java(
        "DATABASE_URL",
        main=before('java.util.Objects.requireNonNull(System.getenv("DATABASE_URL"), "DATABASE_URL");'),
    ),
    "wants a database": java("Connection refused", main=before('new java.net.Socket("127.0.0.1", 5432);')),
    "sleeps": java(r"in 3[56] s: it listens on no port", start="sleep 3600\n"),
    "sleeps 21 s": java(r"the port answered only after 2[1-3]\.\d s", start=f"sleep 21\n{CLASS_PATH}"),
    "starts too late": java(
        r"did not answer HTTP in 3[56] s: it listens on no port", start=f"sleep 50\n{CLASS_PATH}"
    ),
    "ends at once": java("exit code 0.*done", start="echo done\n"),
    "a script that does not parse": java("syntax error|unexpected", start="if true; then\n"),
    "only 404": java(
        "health path /health answered 404", main=changed('path.equals("/health")', 'path.equals("/alive")')
    ),
    "health 500": java("/health answered 500", main=changed("reads ? 200 : 405", "500")),
    "more memory than there is": java(
        "OutOfMemory|memory",
        main=before(
            "java.util.List<long[]> all = new ArrayList<>(); while (true) all.add(new long[10_000_000]);"
        ).replace("new ArrayList<>()", "new java.util.ArrayList<>()"),
    ),
    # further kinds: frameworks, build files, sources, starts
    "vert.x": java(main=VERTX, build=pom(dependency("io.vertx", "vertx-web", "4.5.8"), COPIED)),
    "jetty": java(
        main=JETTY, build=pom(dependency("org.eclipse.jetty", "jetty-server", "11.0.20") + SLF4J, COPIED)
    ),
    "settings in application.properties": java(
        # What `start` is given must go before the file.
        main=changed(f"start({PORT});", "SpringApplication.run(Main.class, words);", SPRING).replace(
            "app.run()", 'app.run("--server.port=" + port)'
        ),
        build=pom(WEB, COPIED, parent=BOOT),
        **{"src/main/resources/application.properties": f"server.port={PORT}\n"},
    ),
    "the release as a property": java(build=pom(properties="<maven.compiler.release>17</maven.compiler.release>")),
    "classes of another build": java(**{"target/classes/app/Main.class": "not a class", "target/x.txt": "x"}),
    "letters of other alphabets": java(
        notes=changed("texts = new", "wörter = new", NOTES).replace("texts", "wörter"),
        main=changed('"no such page"', '"日本語: nein"'),
    ),
    "sources in Kotlin beside": java(
        build=pom(dependency("org.jetbrains.kotlin", "kotlin-stdlib", "1.9.24"), KOTLIN),
        **{"src/main/kotlin/app/Words.kt": 'package app\n\nobject Words { const val NONE = "no such page" }\n'},
    ),
    "a mark before the first letter": java(r"illegal character", notes="\ufeff" + NOTES.lstrip()),
    "warnings are errors": java(
        "(?i)werror|warnings found",
        build=pom(
            plugins="<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.11.0</version><configuration>"
            "<compilerArgs><arg>-Xlint:all</arg><arg>-Werror</arg></compilerArgs><showWarnings>true</showWarnings>"
            "</configuration></plugin>"
        ),
        notes=changed("private final List<String> texts", "private final List texts", NOTES).replace(
            "return number >= 1 && number <= texts.size() ?",
            "return number >= 1 && number <= texts.size() ? (String)",
        ),
    ),
    "the build wants another Java": java(
        "(?i)enforcer|RequireJavaVersion|JDK",
        build=pom(
            plugins="<plugin><artifactId>maven-enforcer-plugin</artifactId><version>3.4.1</version><executions>"
            "<execution><goals><goal>enforce</goal></goals><configuration><rules><requireJavaVersion><version>"
            "[21,)</version></requireJavaVersion></rules></configuration></execution></executions></plugin>"
        ),
    ),
    "a jar that lies elsewhere": java(
        "systemPath|notes-core|/opt",
        build=pom(
            dependency(
                "app.nowhere", "notes-core", "1", "<scope>system</scope><systemPath>/opt/core.jar</systemPath>"
            )
        ),
        main=changed('"no such page"', "core.Core.NONE"),
    ),
    "a snapshot": java("SNAPSHOT", build=pom(dependency("app.nowhere", "notes-core", "1-SNAPSHOT"))),
    "no package": java(
        "package|cannot find symbol|not found",
        notes=changed("package app;", "", NOTES),
        main=changed("package app;", ""),
        start=CLASS_PATH.replace("app.Main", "Main"),
    ),
    "a private constructor": java(
        r"has private access|Notes\(\) has private",
        notes=changed(
            "public synchronized int add",
            "private Notes() {}\n\n    static Notes make() { return new "
            "Notes(); }\n\n    public synchronized int add",
            NOTES,
        ),
        main=changed("new Notes()", "Notes.make()"),
    ),
    "only an interface": java(
        "abstract",
        notes="package app;\n\npublic interface Notes {\n    int add(String text);\n    String get(int number);\n"
        "    int size();\n}\n",
        main=changed("new Notes()", "null"),
    ),
    "no end of a loop": java(
        "time|did not end|stopped", notes=changed("{ texts.add(text);", "{ while (texts != null) { }", NOTES)
    ),
    "Maven's wrapper that is not there": java("mvnw", start="./mvnw -q compile\nexec ./mvnw exec:java\n"),
    "a jar that nothing packs": java("Unable to access jarfile", start="exec java -jar target/*.jar\n"),
    "listens and ends": java("exit code 0", main=before("if (true) { System.out.println(1); return; }")),
    "health wants a password": java("/health answered 401", main=changed("reads ? 200 : 405", "401")),
}
