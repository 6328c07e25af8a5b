"""Fuzz targets: modules with a function `one(data)`, which raises where what the bytes stand for
breaks a promise.
"""
