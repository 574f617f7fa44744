"""Which HTTP routes Python declares, read by syntax tree: comments and strings declare nothing.

Flask, FastAPI, Django, Eve, aiohttp.
"""
