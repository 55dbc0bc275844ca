"""From a trained model to predictions: model file, predictor, objects, attributes, segmentation."""
