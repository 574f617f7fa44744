package com.example.micronautcistatus;

import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Delete;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Put;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.exceptions.HttpStatusException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;

/** Projects and their builds. */
@Controller
public class Builds {
    @Introspected
    public record Project(
            @Nullable String id, @Nullable String name, @Nullable String repoUrl, @Nullable String createdAt) {}

    @Introspected
    public record Trigger(@Nullable String branch, @Nullable String commitHash) {}

    @Introspected
    public record Build(
            String id, String projectId, String branch, String commitHash, String status, @Nullable String result,
            String startTime, @Nullable String endTime) {}

    @Introspected
    public record Repository(@Nullable String url) {}

    @Introspected
    public record Push(@Nullable String ref, @Nullable Repository repository) {}

    private final Shelf<Project> projects = new Shelf<>();
    private final Shelf<Build> builds = new Shelf<>();

    @Get("/projects")
    public List<Project> listProjects() {
        return projects.all();
    }

    @Post("/projects")
    @Status(HttpStatus.CREATED)
    public Project createProject(@Body Project told) {
        String name = Shelf.needed(told.name(), "name");
        String repository = Shelf.needed(told.repoUrl(), "repoUrl");
        return projects.add(id -> new Project(id, name, repository, Instant.now().toString()));
    }

    @Get("/projects/{id}")
    public Project project(String id) {
        return projects.get(id);
    }

    @Put("/projects/{id}")
    public Project updateProject(String id, @Body Project told) {
        Project old = projects.get(id);
        String name = told.name() == null ? old.name() : told.name();
        String repository = told.repoUrl() == null ? old.repoUrl() : told.repoUrl();
        return projects.change(id, new Project(id, name, repository, old.createdAt()));
    }

    @Delete("/projects/{id}")
    @Status(HttpStatus.NO_CONTENT)
    public void deleteProject(String id) {
        projects.remove(id);
        ofProject(id).forEach(build -> builds.remove(build.id()));
    }

    @Post("/projects/{id}/builds")
    @Status(HttpStatus.CREATED)
    public Build trigger(String id, @Body Trigger told) {
        projects.get(id);
        String branch = Shelf.needed(told.branch(), "branch");
        return queued(id, branch, told.commitHash() == null ? "HEAD" : told.commitHash());
    }

    @Get("/projects/{id}/builds")
    public List<Build> buildsOfProject(String id) {
        projects.get(id);
        return ofProject(id);
    }

    @Get("/builds/{id}")
    public Build build(String id) {
        return builds.get(id);
    }

    @Get("/builds/{id}/status")
    public Map<String, String> status(String id) {
        return Map.of("status", builds.get(id).status());
    }

    @Post("/builds/{id}/cancel")
    public Build cancel(String id) {
        Build old = builds.get(id);
        if (old.endTime() != null) {
            throw new HttpStatusException(HttpStatus.CONFLICT, "this build has ended");
        }
        return builds.change(id, new Build(
                id, old.projectId(), old.branch(), old.commitHash(), "CANCELLED", "CANCELLED", old.startTime(),
                Instant.now().toString()));
    }

    @Get("/builds/{id}/logs")
    public Map<String, List<String>> logs(String id) {
        Build build = builds.get(id);
        return Map.of("logs", List.of("branch " + build.branch() + " at " + build.commitHash(), build.status()));
    }

    @Get("/builds/{id}/artifacts")
    public List<Map<String, Object>> artifacts(String id) {
        builds.get(id);
        return List.of();
    }

    @Get("/queue")
    public List<Map<String, Object>> queue() {
        return builds.all().stream()
                .filter(build -> build.status().equals("QUEUED"))
                .map(build -> Map.<String, Object>of("buildId", build.id(), "priority", 1))
                .toList();
    }

    @Get("/statistics/daily")
    public Map<String, Object> statistics() {
        String today = LocalDate.now().toString();
        List<Build> ofToday = builds.all().stream().filter(build -> build.startTime().startsWith(today)).toList();
        long succeeded = ofToday.stream().filter(build -> "SUCCESS".equals(build.result())).count();
        double rate = ofToday.isEmpty() ? 0.0 : (double) succeeded / ofToday.size();
        return Map.of("date", today, "totalBuilds", ofToday.size(), "successRate", rate);
    }

    @Get("/reports/latest")
    public Map<String, String> report() {
        String summary = projects.all().size() + " projects, " + builds.all().size() + " builds";
        return Map.of("reportId", "latest", "summary", summary);
    }

    /** Triggers a build of each project that this repository belongs to. */
    @Post("/webhooks/git")
    public Map<String, Boolean> push(@Body Push told) {
        String ref = Shelf.needed(told.ref(), "ref");
        String url = told.repository() == null ? "" : told.repository().url();
        projects.all().stream()
                .filter(project -> project.repoUrl().equals(url))
                .forEach(project -> queued(project.id(), ref, "HEAD"));
        return Map.of("received", true);
    }

    private Build queued(String project, String branch, String commit) {
        String now = Instant.now().toString();
        return builds.add(id -> new Build(id, project, branch, commit, "QUEUED", null, now, null));
    }

    private List<Build> ofProject(String id) {
        return builds.all().stream().filter(build -> build.projectId().equals(id)).toList();
    }
}
