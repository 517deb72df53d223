"""The engine: trains many replicas (seeds x variants) as one program; checkpoints, resumes."""
