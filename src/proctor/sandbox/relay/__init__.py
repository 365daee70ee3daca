"""The relay: connections to a box's loopback as frames on the stdin and stdout of a program that runs in the box."""
