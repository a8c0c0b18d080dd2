"""The slash commands, for every user interface of the agent."""
