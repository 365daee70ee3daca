"""Where items come from: exams today; a folder for each kind of source."""
