"""yohaku inside other frameworks: their state keeps the whole conversation, the model gets the folded view.

One framework a file. Nothing here is imported by the rest of the package, and each file imports its framework.
"""
