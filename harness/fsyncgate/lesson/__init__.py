"""Lessons: a real machine, one step at a time, and the reader guesses first."""
