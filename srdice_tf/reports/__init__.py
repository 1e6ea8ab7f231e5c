"""What a run says at its end: texts, tables, figures."""
