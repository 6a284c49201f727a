"""The `lumus` command."""
