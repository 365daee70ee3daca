"""The database itself: tables, migrations, walls between projects, plans, runs and attempts."""
