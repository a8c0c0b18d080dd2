"""Digest: chapters about hidden turns, made without a model. The pass in passes/digest.py decides their sizes.

How a chapter is made:

1. The pass chooses a cut: the newest steps stay whole, everything before it is hidden. It decides between one more
   chapter about what is hidden now, and one for everything, and hands its `chapter.Stretch` to `chapter.tell`.
2. `gist.write_gist` writes a header with the ref that opens the hidden part, the user's rules word for word, and eight
   sections: prompts, files, commands, tests, errors, decisions, plan, entities. Each section has a share of the tokens,
   and what one leaves goes to the next. `gist_text.GistText` keeps count and order, and holds the titles in English and
   Japanese.
3. `excerpts.collect_excerpts` lists the hidden texts: prompts, replies, arguments, results.
4. `select_lines.choose_spans` chooses the lines of these texts that are likely to be needed again, by the names in
   them, within the tokens that are left. `spans` splits texts into lines and shows the chosen ones.
5. `excerpts.render_excerpts` puts the lines under titles that name their call. They follow the sections.

`appendix.write_appendix` is for gists that a model wrote: it adds errors, files and entities that the summary left out.
"""
