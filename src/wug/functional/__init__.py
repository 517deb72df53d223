"""Pure equations that several units or layers share."""
