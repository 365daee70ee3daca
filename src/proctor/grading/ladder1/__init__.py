"""The extraction ladder `proctor/1`, frozen: kept runs, bundles and resumed runs are read as they were."""
