"""Windows of neighbouring elements: their maxima and means; resampling."""
