"""The strength of the sparsity penalty: figures 10-12."""
