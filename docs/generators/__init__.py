"""What the pages show and nobody types: equations, unit pages, results, help texts."""
