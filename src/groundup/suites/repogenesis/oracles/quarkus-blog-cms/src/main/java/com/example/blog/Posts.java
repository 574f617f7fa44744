package com.example.blog;

import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.QueryParam;
import java.time.Instant;
import java.util.List;

/** Posts and what is said of them. */
@Path("/api/posts")
public class Posts {
    public record Page(List<Blog.Post> data, int total, int page, int size) {}

    private final Blog blog;

    Posts(Blog blog) {
        this.blog = blog;
    }

    @POST
    public Blog.Post create(Blog.Post told) {
        String now = Instant.now().toString();
        return blog.posts.add(id -> new Blog.Post(
                id, Blog.needed(told.title()), told.content(), told.authorId(), told.categoryId(),
                told.tags() == null ? List.of() : told.tags(), now, now));
    }

    @GET
    public Page list(@QueryParam("page") @DefaultValue("0") int page, @QueryParam("size") @DefaultValue("10") int size) {
        List<Blog.Post> all = blog.posts.all();
        List<Blog.Post> shown = all.stream().skip((long) page * size).limit(size).toList();
        return new Page(shown, all.size(), page, size);
    }

    @GET
    @Path("/{id}")
    public Blog.Post get(@PathParam("id") String id) {
        return blog.posts.get(id);
    }

    @PUT
    @Path("/{id}")
    public Blog.Post update(@PathParam("id") String id, Blog.Post told) {
        Blog.Post old = blog.posts.get(id);
        return blog.posts.change(id, new Blog.Post(
                id, Blog.or(told.title(), old.title()), Blog.or(told.content(), old.content()), old.authorId(),
                Blog.or(told.categoryId(), old.categoryId()), told.tags() == null ? old.tags() : told.tags(),
                old.createdAt(), Instant.now().toString()));
    }

    @DELETE
    @Path("/{id}")
    public void delete(@PathParam("id") String id) {
        blog.posts.remove(id);
    }

    @GET
    @Path("/{id}/comments")
    public List<Blog.Comment> comments(@PathParam("id") String id) {
        blog.posts.get(id);
        return blog.comments.all().stream().filter(comment -> comment.postId().equals(id)).toList();
    }
}
