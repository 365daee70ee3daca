"""Official rows of suites that come by upload."""
