"""The lab: recorded sessions replayed through the engine, and what each recipe kept of what was needed next."""
