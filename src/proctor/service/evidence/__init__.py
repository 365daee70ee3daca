"""What runs show side by side: comparisons, boards, histories."""
