"""Adapters to other libraries, one file each. Nothing imports them; a missing extra breaks only its own file."""
