"""What is given away: documents made of runs, comparisons and boards, and the links by which others read them."""
