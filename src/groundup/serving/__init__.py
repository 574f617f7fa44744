"""Episodes over HTTP: sessions of tasks for trainers and harnesses. Owns protocols and slots, not episodes."""
