package com.example.micronautcistatus;

import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.Map;

/** Builds of projects and who runs them, in memory. */
public final class Application {
    private static final int ANY_PORT = -1;

    private Application() {}

    public static void main(String[] words) throws InterruptedException {
        start(Integer.parseInt(System.getenv().getOrDefault("SERVICE_PORT", "8080")));
        Thread.currentThread().join();
    }

    /** Starts the service; port 0 takes any. */
    public static ApplicationContext start(int port) {
        ApplicationContext context = ApplicationContext.run(
                Map.of("micronaut.server.port", port == 0 ? ANY_PORT : port));
        context.getBean(EmbeddedServer.class).start();
        return context;
    }
}
