"""The extraction ladder `proctor/2`: a reply is read as a careful person reads it, one concern a file."""
