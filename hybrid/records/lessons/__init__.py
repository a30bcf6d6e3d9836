"""Lessons: one short rule each, in a file that people read and edit."""
