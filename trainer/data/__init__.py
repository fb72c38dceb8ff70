"""The bundled data set and tokenizer, and the scripts that wrote them."""
