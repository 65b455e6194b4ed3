"""What is true outside of this project, as data: hardware, prices, releases, models, and every pin. Pure."""
