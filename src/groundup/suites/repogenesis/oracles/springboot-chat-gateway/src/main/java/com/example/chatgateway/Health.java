package com.example.chatgateway;

import java.util.Map;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Whether the gateway is well. */
@RestController
public class Health {
    private final long began = System.currentTimeMillis();

    @GetMapping("/api/system/health")
    Map<String, Object> health() {
        return Map.of("status", "UP", "uptime", System.currentTimeMillis() - began, "version", "1.0");
    }
}
