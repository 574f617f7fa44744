package com.example.chatgateway;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A gateway for chat messages, in memory. */
@SpringBootApplication
public class ChatGatewayApplication {
    public static void main(String[] words) {
        SpringApplication.run(ChatGatewayApplication.class, words);
    }
}
