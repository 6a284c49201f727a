"""The compiler: programs made better by passes, and run as native plans."""
