"""People who write."""

from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base


class User(Base):
    """An account."""

    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(unique=True)
    email: Mapped[str] = mapped_column(unique=True)
    hashed_password: Mapped[str]

    def short(self) -> dict:
        """Return what others see of it."""
        return {"id": self.id, "username": self.username}
