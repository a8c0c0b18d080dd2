"""Makes one answer of several, each about one stretch of the same conversation."""

MERGE = """\
Above are notes on consecutive stretches of one conversation between a user and an assistant with tools, in order. \
Make one text of them for the assistant, which goes on working and will see nothing else of it.

Where the notes disagree the later ones hold. What is finished may be short; what is open, decided or still needed \
must stay. Copy names, paths, numbers and commands exactly, and add nothing that is not in the notes."""
