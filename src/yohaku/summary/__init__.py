"""Summary: the gist of hidden turns, written by a model. The passes summarise and digest use it.

How a summary is made:

1. `transcript_text` writes the record of the hidden turns: one entry per prompt, reply, call and result. If it is too
   long for the model's window, long results are cut first, and then it is split into up to eight stretches.
2. `request.ask_for_summary` builds the questions from the texts in `prompts` and yields them; a driver outside the core
   asks the model and sends the answers back.
3. `answer_fields` parses an answer, in tags or JSON, whole or broken off.
4. `check.check_answer` drops echoes of the prompt, repetitions (`repeats`) and sentences with names or numbers that the
   conversation does not hold. An answer with too little left is rejected, and repaired once.
5. Several answers are merged by one more question. If no answer is accepted, the pass writes a gist without a model.
"""
