"""What models say of submissions: questions, strict answers, and what several judges agree on."""
