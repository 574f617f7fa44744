package groundup.runner;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs JUnit 5 tests and writes a line per event to a pipe. What decides is outside: see grading/java in groundup.
 *
 * Standard input: the run's token, the path of the pipe, seconds for one test, then a class name per line.
 * A line: token, event, class, method, outcome, milliseconds, message in base 64; separated by tabs.
 */
public final class Runner {
    private static final int LONGEST_MESSAGE = 2000;
    private static final int MOST_FRAMES = 60;

    private Runner() {}

    public static void main(String[] words) throws IOException {
        List<String> told = new ArrayList<>();
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                told.add(line);
            }
        }
        Report report = new Report(told.get(0), new FileOutputStream(told.get(1)));
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String name : told.subList(3, told.size())) {
            selectors.add(DiscoverySelectors.selectClass(name));
        }
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectors)
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter("junit.jupiter.execution.timeout.testable.method.default", told.get(2) + " s")
                .build();
        LauncherConfig config = LauncherConfig.builder()
                .enableTestEngineAutoRegistration(false)
                .enableLauncherDiscoveryListenerAutoRegistration(false)
                .enableLauncherSessionListenerAutoRegistration(false)
                .enablePostDiscoveryFilterAutoRegistration(false)
                .enableTestExecutionListenerAutoRegistration(false)
                .addTestEngines(new JupiterTestEngine())
                .build();
        Launcher launcher = LauncherFactory.create(config);
        launcher.execute(request, report);
        report.write("end", "", "", "", 0, "", "");
        Runtime.getRuntime().halt(0);
    }

    private static final class Report implements TestExecutionListener {
        private final String token;
        private final OutputStream pipe;
        private final Map<String, Long> begun = new ConcurrentHashMap<>();
        private volatile TestPlan plan;

        Report(String token, OutputStream pipe) {
            this.token = token;
            this.pipe = pipe;
        }

        @Override
        public void testPlanExecutionStarted(TestPlan started) {
            plan = started;
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            begun.put(test.getUniqueId(), System.nanoTime());
            if (test.isTest()) {
                tell("begin", test, "", "", "");
            }
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            if (test.isTest()) {
                tell("test", test, "skipped", reason, "");
            }
            for (TestIdentifier below : plan.getDescendants(test)) {
                if (below.isTest()) {
                    tell("test", below, "skipped", reason, "");
                }
            }
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            String outcome = "passed";
            if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                boolean aborted = result.getStatus() == TestExecutionResult.Status.ABORTED;
                boolean failed = result.getThrowable().map(AssertionError.class::isInstance).orElse(false);
                outcome = aborted ? "skipped" : failed ? "failed" : "error";
            }
            String said = result.getThrowable().map(Report::shown).orElse("");
            String frames = result.getThrowable().map(Report::frames).orElse("");
            if (test.isTest()) {
                tell("test", test, outcome, said, frames);
            } else if (!outcome.equals("passed")) {
                tell("container", test, outcome, said, frames);
            }
        }

        private void tell(String event, TestIdentifier test, String outcome, String message, String frames) {
            TestSource source = test.getSource().orElse(null);
            String type = "";
            String method = "";
            if (source instanceof MethodSource) {
                type = ((MethodSource) source).getClassName();
                method = ((MethodSource) source).getMethodName();
            } else if (source instanceof ClassSource) {
                type = ((ClassSource) source).getClassName();
            }
            Long start = begun.get(test.getUniqueId());
            long millis = start == null ? 0 : (System.nanoTime() - start) / 1_000_000;
            write(event, type, method, outcome, millis, message, frames);
        }

        synchronized void write(
                String event,
                String type,
                String method,
                String outcome,
                long millis,
                String message,
                String frames) {
            String cut = message.length() > LONGEST_MESSAGE ? message.substring(0, LONGEST_MESSAGE) : message;
            String line = String.join(
                    "\t", token, event, type, method, outcome, Long.toString(millis), encoded(cut), encoded(frames));
            line += "\n";
            try {
                pipe.write(line.getBytes(StandardCharsets.UTF_8));
                pipe.flush();
            } catch (IOException error) {
                Runtime.getRuntime().halt(3);
            }
        }

        private static String encoded(String text) {
            return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
        }

        private static Throwable root(Throwable error) {
            Throwable cause = error;
            for (int depth = 0; depth < 50 && cause.getCause() != null; depth++) {
                cause = cause.getCause();
            }
            return cause;
        }

        private static String frames(Throwable error) {
            Throwable cause = root(error);
            return cause == error ? own(error) : own(cause) + "\n" + own(error);
        }

        private static String own(Throwable error) {
            StringBuilder told = new StringBuilder();
            int number = 0;
            for (StackTraceElement frame : error.getStackTrace()) {
                String type = frame.getClassName();
                boolean known = type.startsWith("org.junit.") || type.startsWith("java.") || type.startsWith("jdk.");
                if (known || frame.getFileName() == null || frame.getLineNumber() < 1 || number++ >= MOST_FRAMES) {
                    continue;
                }
                told.append(String.join(
                        " ",
                        type,
                        frame.getFileName(),
                        Integer.toString(frame.getLineNumber()),
                        frame.getMethodName() + "\n"));
            }
            return told.toString();
        }

        private static String shown(Throwable error) {
            Throwable cause = root(error);
            return cause == error ? error.toString() : error + ", caused by " + cause;
        }
    }
}
