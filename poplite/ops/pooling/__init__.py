"""Pooling over windows, with its gradients."""
