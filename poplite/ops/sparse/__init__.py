"""Products of sparse and dense matrices, whose non-zeros are at fixed places."""
