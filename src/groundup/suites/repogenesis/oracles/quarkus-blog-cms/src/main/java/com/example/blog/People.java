package com.example.blog;

import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import java.time.Instant;
import java.util.List;

/** Authors, commenters, and the tags that they use. */
@Path("/api")
public class People {
    private final Blog blog;

    People(Blog blog) {
        this.blog = blog;
    }

    @POST
    @Path("/authors")
    public Blog.Author register(Blog.Author told) {
        return blog.authors.add(id -> new Blog.Author(id, Blog.needed(told.name()), told.email(), told.bio()));
    }

    @GET
    @Path("/authors/{id}")
    public Blog.Author author(@PathParam("id") String id) {
        return blog.authors.get(id);
    }

    @POST
    @Path("/comments")
    public Blog.Comment comment(Blog.Comment told) {
        blog.posts.get(told.postId());
        return blog.comments.add(id -> new Blog.Comment(
                id, told.postId(), told.authorName(), Blog.needed(told.content()), Instant.now().toString()));
    }

    @DELETE
    @Path("/comments/{id}")
    public void delete(@PathParam("id") String id) {
        blog.comments.remove(id);
    }

    @GET
    @Path("/tags")
    public List<String> tags() {
        return blog.posts.all().stream().flatMap(post -> post.tags().stream()).distinct().sorted().toList();
    }
}
