"""Digest: chapters about hidden turns, made without a model. The pass in passes/digest.py decides their sizes.

How a chapter is made:

1. The pass chooses a cut: the newest steps stay whole, everything before it is hidden. It decides between one more
   chapter about what is hidden now, and one for everything, and hands its `chapter.Stretch` to `chapter.tell`.
2. `gist.write_gist` writes a header with the ref that opens the hidden part, the user's rules word for word, the story
   of the stretch, and behind it files, plan and what still fails. `gist_text.GistText` keeps count and order, and holds
   the titles in English and Japanese.
3. The story: `story_items` reads what was asked, said and done, each action with its outcome; `story` shares less than
   half of the tokens among them.
4. With the rest, `select_lines.choose_spans` chooses lines of what was written and of results that name what is not
   visible elsewhere, those first that say something without their neighbours (`line_value`), and `woven_lines.weave`
   puts each under what it belongs to. Lines of earlier stretches (`excerpts.collect_excerpts`), and those the user
   wants (`wished_lines`), follow under the titles of their calls.

`write_gist` without chapters, for other recipes, adds `passages.choose_passages`: several lines in a row of what the
work is about now; logs are shown by their shape (`output_shape`).
`appendix.write_appendix` is for gists that a model wrote: it adds errors, files and entities that the summary left out.
"""
