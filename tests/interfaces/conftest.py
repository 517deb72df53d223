# What it registers belongs to the processes of the tests alone.
collect_ignore = ["tiny.py"]
