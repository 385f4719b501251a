"""What runs in a Python worker: a loop that answers calls, and the user's function behind it.

These modules are sent to the workers by value, so that a cluster's machines need not have headrace. They import nothing that those may
lack, and from each other only names: a module would travel by its name.
"""
