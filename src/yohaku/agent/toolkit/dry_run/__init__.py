"""Dry run of a bash command: the programs it would start, with the values their words would have. Nothing is executed.

Law: it errs on the side of more. A variable has all values it may have, both branches of an `if` are run, and a value
that only running would tell is marked as unknown.
"""
