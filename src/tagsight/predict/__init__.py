"""Posterior -> answers."""
