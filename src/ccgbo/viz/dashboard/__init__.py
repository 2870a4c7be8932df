"""A local web page that follows a study live.

guard.py    who may ask: host, token, cross-site posts, headers
follow.py   a study as the page sees it: trials at once, the model's part as far as it is known
analyst.py  the model's part, in a process of its own
app.py      the addresses
serve.py    the process
"""
