"""Recurrent arithmetic: tables 8 and 9."""
