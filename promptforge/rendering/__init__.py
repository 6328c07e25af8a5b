"""From items to one context text and its report."""
