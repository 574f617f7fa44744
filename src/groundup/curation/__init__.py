"""Making tasks out of repositories: where their tests run, and what is left when the answer is taken out."""
