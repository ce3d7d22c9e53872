"""The words of a layer and of questions about its figures, and where in a question they stand."""
