"""Which items in which form: arithmetic over prices, a file a way of packing."""
