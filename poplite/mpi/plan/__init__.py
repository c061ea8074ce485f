"""What each rank runs, and what ranks send each other: the same plan on all of them."""
