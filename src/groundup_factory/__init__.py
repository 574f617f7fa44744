"""Making tasks out of repositories: sets, services and recipes; and audits of tasks."""
