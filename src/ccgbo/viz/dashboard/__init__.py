"""A local web page that follows a study live.

guard.py    who may ask: host, token, cross-site posts, headers
limits.py   how much of it one visitor can take: connections, time, lines in the log
follow.py   the file and its studies as the page sees them: trials at once, the model's part as far as it is known
analyst.py  the model's part, in a process of its own
words.py    messages without the folder of the file
given.py    what a request says, checked
actions.py  what is done by hand
tables.py   spreadsheets in and out
app.py      the addresses
serve.py    the process
"""
