"""What the file tools do, apart from their registration: the standard library is all it needs."""
