"""What a memory is: values, rules and stored forms, without storage, search or time of their own."""
