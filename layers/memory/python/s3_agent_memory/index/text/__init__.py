"""What is in a text: words by language, dates, and what a question asks for."""
