"""Layouts that a build shuffles."""
