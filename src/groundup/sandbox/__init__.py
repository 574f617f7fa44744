"""Where commands run: a protocol and its providers. The only package that starts processes."""
