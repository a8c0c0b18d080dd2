"""What every surface of the agent shares: its beginning, commands, sessions, and how things are shown."""
