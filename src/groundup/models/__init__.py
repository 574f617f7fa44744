"""Chat models: clients, retries, usage and cost; a scripted model that speaks the real protocol."""
