"""The dashboard: pages made on the server, for any browser, under a strict content security policy."""
