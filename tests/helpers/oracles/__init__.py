"""What the origin systems print, ported line by line: the standard for the bytes of the shipped layouts.

Nothing here imports promptforge. Where the project leaves an origin system on purpose, a comment beginning with
`Deviation:` says so and why.
"""
