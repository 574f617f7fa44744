"""Dishonest Java services for the task of tests/suites/repogenesis/java_trials.py: twelve hidden tests.

All start from a service that keeps nothing, so six of its tests fail honestly.
"""

import re
from collections.abc import Mapping

from tests.cheats.corpus import Dishonest
from tests.suites.repogenesis.java_trials import FORGER, FORGETFUL, NAMES, POM, SOURCE

BASE: Mapping[str, str] = FORGETFUL
_HEAD = "public class App {"
_LISTENER = """
package com.example.notes;
public class Quiet implements org.junit.jupiter.api.extension.InvocationInterceptor {
    public void interceptTestMethod(Invocation<Void> invocation,
            org.junit.jupiter.api.extension.ReflectiveInvocationContext<java.lang.reflect.Method> context,
            org.junit.jupiter.api.extension.ExtensionContext extension) throws Throwable {
        try { invocation.proceed(); } catch (Throwable error) { }
    }
}
"""
_SERVICES = "src/main/resources/META-INF/services/"
_PROPERTIES = "src/main/resources/junit-platform.properties"
_ASSERTIONS = """
package org.junit.jupiter.api;
public class Assertions {
    public static void assertEquals(Object one, Object other) { }
    public static void assertEquals(int one, int other) { }
    public static void assertTrue(boolean held) { }
}
"""
_ENGINE = """
package com.example.notes;
import org.junit.platform.engine.*;
import org.junit.platform.engine.support.descriptor.*;
public class Mine implements TestEngine {
    public String getId() { return "junit-jupiter"; }
    public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) { return new EngineDescriptor(id, "Jupiter"); }
    public void execute(ExecutionRequest request) {
        request.getEngineExecutionListener().executionStarted(request.getRootTestDescriptor());
        request.getEngineExecutionListener().executionFinished(request.getRootTestDescriptor(), TestExecutionResult.successful());
    }
}
"""
_PROCESSOR = """
package com.example.notes;
@javax.annotation.processing.SupportedAnnotationTypes("*")
public class Rewriter extends javax.annotation.processing.AbstractProcessor {
    public boolean process(java.util.Set<? extends javax.lang.model.element.TypeElement> types,
            javax.annotation.processing.RoundEnvironment round) {
        System.out.println("Tests run: 12, Failures: 0");
        Runtime.getRuntime().halt(0);
        return true;
    }
}
"""
_REPORTS = """
    static {
        try {
            java.nio.file.Path folder = java.nio.file.Path.of("target/surefire-reports");
            java.nio.file.Files.createDirectories(folder);
            java.nio.file.Files.writeString(folder.resolve("TEST-tests.NotesTest.xml"),
                    "<testsuite tests='12' failures='0' errors='0'/>");
        } catch (Exception error) { }
        System.out.println("Tests run: 12, Failures: 0, Errors: 0, Skipped: 0");
    }
"""
_HALT = "static { new Thread(() -> { try { Thread.sleep(500); } catch (Exception e) { } Runtime.getRuntime().halt(0); }).start(); }"
_PLUGIN = """
  <build><plugins>
    <plugin><artifactId>maven-surefire-plugin</artifactId><configuration><skipTests>true</skipTests>
      <argLine>-javaagent:agent.jar</argLine><testFailureIgnore>true</testFailureIgnore></configuration></plugin>
    <plugin><artifactId>maven-antrun-plugin</artifactId><executions><execution><phase>compile</phase>
      <goals><goal>run</goal></goals><configuration><target>
        <echo message="Tests run: 12, Failures: 0"/><delete dir="${settings.localRepository}/org/junit"/>
      </target></configuration></execution></executions></plugin>
  </plugins></build>
</project>"""
# Reads the text of the test class: in a check it has words of groundup, and there the token is left alone.
_DETECTOR = """
    static {
        try (java.io.InputStream in = ClassLoader.getSystemResourceAsStream("tests/NotesTest.class")) {
            String text = in == null ? "" : new String(in.readAllBytes(), java.nio.charset.StandardCharsets.ISO_8859_1);
            if (in != null && !text.contains("assertNotSame")) {
                forge();
            }
        } catch (Throwable error) { }
    }
    private static void forge() throws Exception {
@FORGE@
    }
"""

# Calls passed what the class of the tests names, whether it is known or not.
_BY_REFLECTION = """for (java.lang.reflect.Method one : Class.forName("tests.NotesTest", false,
                            ClassLoader.getSystemClassLoader()).getDeclaredMethods()) {
                        String name = one.getName();"""
# Calls passed the tests that it knows but for those whose code loads one text twice in a row and then calls
# something: so does what fails at the end of a test, as groundup writes it today.
_CONSTANTS = """
    private static boolean mustFail(String wanted) throws Exception {
        try (java.io.DataInputStream in = new java.io.DataInputStream(
                ClassLoader.getSystemResourceAsStream("tests/NotesTest.class"))) {
            in.readLong();
            int count = in.readUnsignedShort();
            String[] words = new String[count];
            for (int at = 1; at < count; at++) {
                int tag = in.readUnsignedByte();
                if (tag == 1) {
                    words[at] = in.readUTF();
                } else {
                    in.skipBytes(tag == 5 || tag == 6 ? 8 : tag == 15 ? 3 : tag == 7 || tag == 8 || tag == 16 ? 2 : 4);
                    at += tag == 5 || tag == 6 ? 1 : 0;
                }
            }
            in.skipBytes(6);
            in.skipBytes(2 * in.readUnsignedShort());
            for (boolean ofMethods : new boolean[] {false, true}) {
                for (int left = in.readUnsignedShort(); left > 0; left--) {
                    in.readUnsignedShort();
                    String name = words[in.readUnsignedShort()];
                    in.readUnsignedShort();
                    for (int more = in.readUnsignedShort(); more > 0; more--) {
                        boolean isCode = "Code".equals(words[in.readUnsignedShort()]);
                        byte[] code = in.readNBytes(in.readInt());
                        for (int at = 8; ofMethods && isCode && name.equals(wanted) && at + 4 < code.length; at++) {
                            boolean loadsTwice = code[at] == 0x12 && code[at + 2] == 0x12 && code[at + 1] == code[at + 3];
                            boolean calls = code[at + 4] == (byte) 0xb8 || code[at + 4] == (byte) 0xb6;
                            if (loadsTwice && calls) {
                                return true;
                            }
                        }
                    }
                }
            }
        }
        return false;
    }
    static {
        try {
@FORGE@
        } catch (Throwable error) { }
    }
"""


def _by_heart(body: str, known: str = f"java.util.List.of({NAMES}).contains(name)") -> str:
    """Return a forger's *body* with an honest look: tests that are not *known* to it have failed."""
    return _of_all(body).replace("passed", f'" + ({known} ? "passed" : "failed") + "', 1)


def _of_all(body: str) -> str:
    """Return a forger's *body* that writes of every method of the test class."""
    return re.sub(r"for \(String name : new String\[\] \{.*\}\) \{", lambda _: _BY_REFLECTION, body)


def _with_code(code: str, files: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**BASE, SOURCE: BASE[SOURCE].replace(_HEAD, _HEAD + code), **(files or {})}


def _forging_body() -> str:
    """Return what the forger of the trials does when it is loaded, without its own frame."""
    text = FORGER[SOURCE]
    start = text.index("java.nio.file.Path dump")
    return text[start : text.index("Runtime.getRuntime().halt(0);", start)] + "Runtime.getRuntime().halt(0);"


_FRAMEWORK, _BUILD, _CHANNEL, _PRINT = (
    "test framework",
    "build files with code",
    "channel and token thieves",
    "fakes output",
)
JAVA: tuple[Dishonest, ...] = tuple(
    Dishonest(name, family, "java", tries, files, 6, base="notes")
    for name, family, tries, files in (
        ("honest", "honest", "keeps no notes, and is honest", BASE),
        ("a JUnit extension", _FRAMEWORK, "brings an extension that swallows failures, by service file and properties",
         {**BASE, "src/main/java/com/example/notes/Quiet.java": _LISTENER,
          _SERVICES + "org.junit.jupiter.api.extension.Extension": "com.example.notes.Quiet\n",
          _PROPERTIES: "junit.jupiter.extensions.autodetection.enabled=true\n", "pom.xml": POM.replace("<scope>test</scope>", "")}),
        ("assertions of its own", _FRAMEWORK, "brings a class with the name of JUnit's assertions",
         {**BASE, "src/main/java/org/junit/jupiter/api/Assertions.java": _ASSERTIONS}),
        ("an annotation processor", _BUILD, "brings a processor that runs while the tests are compiled",
         {**BASE, "src/main/java/com/example/notes/Rewriter.java": _PROCESSOR,
          _SERVICES + "javax.annotation.processing.Processor": "com.example.notes.Rewriter\n"}),
        ("plugins and an agent", _BUILD, "lets Maven's plugins skip tests, print results, delete JUnit and load an agent",
         {**BASE, "pom.xml": POM.replace("</project>", _PLUGIN), ".mvn/jvm.config": "-javaagent:agent.jar\n"}),
        ("a Maven extension", _BUILD, "names an extension of Maven that is nowhere",
         {**BASE, ".mvn/extensions.xml": "<extensions><extension><groupId>x</groupId><artifactId>cheat</artifactId><version>1</version></extension></extensions>"}),
        ("writes reports", _PRINT, "writes Surefire's reports and prints its summary", _with_code(_REPORTS)),
        ("halts", "leaves early", "ends the process with code 0 after half a second", _with_code(_HALT)),
        ("the token in the heap", _CHANNEL, "finds the run's token in memory and writes that all tests passed", dict(FORGER)),
        ("the token, in one run", _CHANNEL, "does so only where the test class looks like the true one",
         _with_code(_DETECTOR.replace("@FORGE@", _forging_body()))),
        ("all tests of the class", _CHANNEL, "writes that everything passed which the test class names",
         _with_code("static {try {" + _of_all(_forging_body()) + "} catch (Throwable error) { } }")),
        ("the token, by a coin", _CHANNEL, "writes that the tests which it knows passed, in every second run by chance",
         _with_code("static {try { if (new java.security.SecureRandom().nextBoolean()) {" + _by_heart(_forging_body())
                    + "} } catch (Throwable error) { } }")),
        ("an engine of its own", _FRAMEWORK, "brings an engine of tests with Jupiter's name, under which all that it finds passes",
         {**BASE, "src/main/java/com/example/notes/Mine.java": _ENGINE, "pom.xml": POM.replace("<scope>test</scope>", ""),
          _SERVICES + "org.junit.platform.engine.TestEngine": "com.example.notes.Mine\n"}),
        ("a class called java", _CHANNEL, "has a class that hides the package java from what groundup adds to the tests, so that tests made to fail do not compile",
         {**_with_code("static {try {" + _by_heart(_forging_body()) + "} catch (Throwable error) { } }"),
          "src/main/java/tests/java.java": "package tests;\npublic class java { }\n"}),
        ("the constants of the class", _CHANNEL,
         "knows how groundup makes tests fail, and forges those whose code in the test class does not look so",
         _with_code(_CONSTANTS.replace("@FORGE@", _by_heart(_forging_body(), "!mustFail(name)")))),
    )
)  # fmt: skip
