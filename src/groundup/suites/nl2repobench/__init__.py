"""NL2RepoBench: whole Python libraries from a long specification."""
