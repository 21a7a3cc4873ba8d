"""What keeps an index small and true: folding, merging, collecting, embedding, sweeping, building it anew."""
