"""Long searches for what breaks a promise: `python -m tests.campaigns NAME --cases N`; each is a
module beside this.
"""
