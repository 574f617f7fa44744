"""RepoGenesis: web services from a README, judged by deployment, hidden tests and API coverage."""
