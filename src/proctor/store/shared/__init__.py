"""What machines share besides rows of the database: files, at an address of theirs or in the database itself."""
