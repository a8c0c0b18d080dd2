"""What there is to talk with: servers, keys, files of models, memory, and how large a window all that allows."""
