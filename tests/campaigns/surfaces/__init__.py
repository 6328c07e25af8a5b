"""How an attack meets the library, a module for each way in; `table` says which surface is tried by
which.
"""
