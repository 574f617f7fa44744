"""Making tasks out of repositories: finding the job that tests them, and masking their dependencies."""
