"""What source code shows without running it: imports, and what follows from them."""
