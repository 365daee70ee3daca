"""The words that models are shown, and the styles in which published figures were measured."""
