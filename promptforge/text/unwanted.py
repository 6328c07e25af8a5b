"""Files that programs write and nobody reads, by their names."""

from .words import late_pattern

LOCKED, MINIFIED, GENERATED = "lock files", "minified", "generated"
_LOCK_NAME = late_pattern(
    r"(?i).*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|packages\.lock\.json"
    r"|go\.(work\.)?sum|bun\.lockb|\.terraform\.lock\.hcl"
)
_MINIFIED_NAME = late_pattern(r"(?i).*[.-]min\.(js|mjs|cjs|css)|.*\.(js|mjs|cjs|css)\.map")


def unwanted_name(name: str) -> str | None:
    """Return the reason to leave out a file of a folder by its name, or `None`."""
    base = name.rpartition("/")[2]
    if _LOCK_NAME.fullmatch(base):
        return LOCKED
    # Packaging's copy of a README, and what Visual Studio draws.
    if base == "PKG-INFO" or base.lower().endswith((".designer.cs", ".designer.vb")):
        return GENERATED
    return MINIFIED if _MINIFIED_NAME.fullmatch(base) else None
