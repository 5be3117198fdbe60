"""A labelled corpus, and the judges that hold what the passes make of it against its labels.

Nothing here knows the rules that it tests: texts and labels come from ``data`` and a seed, and what a rule may expect
of them stands in ``words`` (restatements) and ``corpus`` (classes and what is asked of each).
"""
