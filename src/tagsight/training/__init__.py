"""Tagged photos -> trained model: batches, fit, calibration, pipeline."""
