"""The same work in each library; one file a library."""
