"""What all pictures are drawn with: SVG, HTML, text, colours, layouts."""
