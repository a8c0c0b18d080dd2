"""Random requests and replies through the real proxy: `cases` makes them, `wire` sends, `judge` says what is wrong."""
