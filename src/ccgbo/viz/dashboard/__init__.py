"""A local web page that follows a study live.

guard.py    who may ask: host, token, cross-site posts, headers
follow.py   a study as the page sees it: trials at once, the model's part computed beside the requests
app.py      the addresses
serve.py    the process
"""
