"""Large Scale Arithmetic: a wide hidden layer on a hundred inputs."""
