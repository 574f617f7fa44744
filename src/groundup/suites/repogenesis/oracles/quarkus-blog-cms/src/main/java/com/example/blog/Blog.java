package com.example.blog;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.BadRequestException;
import java.util.List;

/** What the blog holds. */
@ApplicationScoped
public class Blog {
    public record Post(
            String id, String title, String content, String authorId, String categoryId, List<String> tags,
            String createdAt, String updatedAt) {}

    public record Category(String id, String name, String description) {}

    public record Comment(String id, String postId, String authorName, String content, String createdAt) {}

    public record Author(String id, String name, String email, String bio) {}

    final Shelf<Post> posts = new Shelf<>();
    final Shelf<Category> categories = new Shelf<>();
    final Shelf<Comment> comments = new Shelf<>();
    final Shelf<Author> authors = new Shelf<>();

    static String needed(String value) {
        if (value == null || value.isBlank()) {
            throw new BadRequestException();
        }
        return value;
    }

    static String or(String first, String second) {
        return first == null ? second : first;
    }
}
