"""Lexical search over memories: text analysis, immutable segments, BM25, filters and ranking, without storage."""
