"""People grade kept replies: a queue, blind, a random part first; what they say stands beside what judges say."""
