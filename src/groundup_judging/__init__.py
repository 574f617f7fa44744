"""Models' opinions of submissions: questions, strict answers, and the agreement of several judges."""
