"""The documents and pages that are made from the code, and the site of all documents."""
