"""Made-up secrets in their places, and texts without any."""
