"""Which HTTP routes source code declares, read by syntax tree: comments and strings declare nothing.

Python: Flask, FastAPI, Django, Eve, aiohttp. Java: Spring, Javalin, Micronaut, JAX-RS with Quarkus, Spark.
"""
