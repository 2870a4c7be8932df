"""The optimizer: what is known, the model of it, the step, and ask and tell around them.

settings.py     every setting, and the presets          history.py    the trials, as data of the model
model.py        when to refit, when to append           search.py     candidates, the maximum of an acquisition
proposal.py     the step: Algorithm 1                   explain.py    why a point was chosen, in the user's units
initial.py      the initial design                      reader.py     what an optimizer knows
state.py        what a resumed run needs                optimizer.py  ask and tell
"""
