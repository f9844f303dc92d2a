"""What the web tools do, apart from their registration."""
