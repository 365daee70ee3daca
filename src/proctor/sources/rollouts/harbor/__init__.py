"""Tasks of Harbor and of Terminal-Bench 2: folders with task.toml, instruction.md, environment/, tests/, solution/."""
