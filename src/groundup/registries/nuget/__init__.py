"""NuGet: the user's sources and folders of packages, and what a sandbox sees of them."""
