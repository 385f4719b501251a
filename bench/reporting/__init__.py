"""Answers with their targets, and the pages and pictures made of them."""
