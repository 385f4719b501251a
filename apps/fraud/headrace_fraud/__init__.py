"""Card-fraud decisions on headrace: the rules, the windows, the store, a generator and a live page."""
