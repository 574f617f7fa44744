"""Hidden tests in Java over an untrusted project: Maven builds it, groundup's own runner tests it."""
