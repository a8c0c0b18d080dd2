"""Digest: chapters about hidden turns, made without a model. The pass in passes/digest.py decides their sizes.

How a chapter is made:

1. The pass chooses a cut: the newest steps stay whole, everything before it is hidden. It decides between one more
   chapter about what is hidden now, and one for everything, and hands its `chapter.Stretch` to `chapter.tell`.
2. `gist.write_gist` writes a header with the ref that opens the hidden part, the user's rules word for word, and the
   story of the stretch (`story.tell_story`): `story_items` reads what was asked, said and done, each action with its
   outcome; `story` shares the tokens among them. Files, plan and what still fails follow. `gist_text.GistText` keeps
   count and order, and holds the titles in English and Japanese.
3. `excerpts.collect_excerpts` lists the hidden texts, and `select_lines.choose_spans` chooses lines of results that
   name what is not visible elsewhere. `spans` splits texts into lines and shows the chosen ones, under their calls.
4. `passages.choose_passages` fills what is left with several lines in a row of what the work is about now; logs are
   shown by their shape (`output_shape`).

`appendix.write_appendix` is for gists that a model wrote: it adds errors, files and entities that the summary left out.
"""
