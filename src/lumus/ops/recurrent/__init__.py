"""Recurrent layers' steps: each one's state goes into the next."""
