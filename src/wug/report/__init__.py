"""Tables and pages made from records alone. No torch."""
