"""Text, understood without a database: similarity, distillation, intentions, search words and encodings."""
