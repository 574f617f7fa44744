package com.example.blog;

import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import java.util.List;

/** Categories of posts. */
@Path("/api/categories")
public class Categories {
    private final Blog blog;

    Categories(Blog blog) {
        this.blog = blog;
    }

    @POST
    public Blog.Category create(Blog.Category told) {
        return blog.categories.add(id -> new Blog.Category(id, Blog.needed(told.name()), told.description()));
    }

    @GET
    public List<Blog.Category> list() {
        return blog.categories.all();
    }

    @PUT
    @Path("/{id}")
    public Blog.Category update(@PathParam("id") String id, Blog.Category told) {
        Blog.Category old = blog.categories.get(id);
        return blog.categories.change(id, new Blog.Category(
                id, Blog.or(told.name(), old.name()), Blog.or(told.description(), old.description())));
    }

    @DELETE
    @Path("/{id}")
    public void delete(@PathParam("id") String id) {
        blog.categories.remove(id);
    }
}
