"""What holds for all tests: nothing fails because the machine was busy."""

from hypothesis import settings

settings.register_profile("groundup", deadline=None)
settings.load_profile("groundup")
