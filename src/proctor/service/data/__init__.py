"""Data in and out: rows, exports, bundles, logs of other tools."""
