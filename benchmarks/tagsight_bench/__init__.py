"""Every method through every protocol, cell by cell, and the page made of the cells."""
