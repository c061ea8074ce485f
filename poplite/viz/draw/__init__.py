"""Tools for drawing all pictures: SVG, text, layouts."""
