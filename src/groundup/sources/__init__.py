"""What source code says without running it: imports, and what follows from them."""
