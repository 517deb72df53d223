"""What makes a table of a paper: experiments, published numbers, claims, catalogs, cards."""
