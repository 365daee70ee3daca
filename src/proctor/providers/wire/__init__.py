"""HTTP to a server: bytes there and back, refusals, delays, and fields of known types."""
