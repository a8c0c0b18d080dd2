"""Finding a model: servers, keys, model files, and the window that this machine's memory allows."""
