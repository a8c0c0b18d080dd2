"""The engine: decides what of a conversation is sent to the model, so that it stays within the context window.

Pure: values in, values out; no I/O, clock, environment, logging, randomness or async.

The data flow:

    body -> dialect -> HistoryBuilder -> History -> View -> plan -> View.shown -> dialect -> body

A dialect reads a request body into a `HistoryBuilder`, which checks it and gives every turn and step its key. A `View`
is that `History` with its folds. `plan` weighs what the view shows against the `Budget` and runs the passes of a
`Recipe`, rung by rung: passes propose folds, the engine applies those that make the view smaller. The dialect writes
`View.shown` back into the body, changing only what is folded.

Ten laws, each held by property tests:

 1. Fits. The outcome is within the limit, or the verdict is `TooBig` and names what is too big.
 2. Well-formed. Every call has its one result directly after it, roles in order, no empty content, in every dialect.
 3. Nothing lost. Unfolding everything restores the history, byte for byte; every ref shown can be opened.
 4. Never bigger. A fold that does not shrink is refused.
 5. Calm. Below the recipe's first rung nothing changes, whatever was folded before, except what the user folds;
    unfolded traffic leaves as the original bytes.
 6. Settled. Planning again on the outcome makes no new fold; adding a step changes nothing shown before it.
 7. Repeatable. The same history with the same folds gives the same view, in any process.
 8. Progress. No two foldings in a row without net gain; the number of questions per folding is bounded.
 9. Recent is sacred. The newest prompt and step are folded only by the last rung, and then visibly.
10. Honest. Everything hidden is named, to the model in the stub and to the user in the receipt.

Read in this order:

    model, history_builder                      the conversation
    originals, folds, pins, view                the conversation with parts of it folded
    meter, weigh, budget                        tokens
    recipe, cache_break_even, verdict, engine   the decision
    reuse                                       folds of an earlier decision
    shape, errors                               printing, exceptions
"""
