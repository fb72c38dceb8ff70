"""How values are made, matched, read and written: the ground every other wing stands on."""
