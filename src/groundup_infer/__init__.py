"""Which packages source code needs, without a model: Python, Rust, JavaScript and C#, from their imports."""
