"""How far a job is: the places where it is kept, whose it is, what of a changed program goes on from it, and whether it is sound."""
