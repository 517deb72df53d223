"""What every floor above stands on: registry, seeds, schedules, claims; no torch."""
