"""`python -m proctor` is the `proctor` program."""

from proctor.app import main

if __name__ == "__main__":
    main()
