"""The model: from feature vectors and tags to a posterior. Works on arrays only, without images, names or files."""
