"""Kernel header trees."""
