"""Everything that tools and commands did to files, so that it can be taken back.

`file_history.FileHistory` is the door: `begin` before a change, `end` after it, `plan_undo` and `undo` to take it back.
"""
