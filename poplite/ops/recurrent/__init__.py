"""Recurrent layers over sequences: LSTM and GRU, forward and backward."""
