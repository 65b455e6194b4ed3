"""What HTML pages are made of: colours, boxes, figures, and the template that they share."""
