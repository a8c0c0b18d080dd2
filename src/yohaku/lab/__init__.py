"""The lab: replays recorded sessions through the engine and scores what each recipe keeps of what is needed next."""
