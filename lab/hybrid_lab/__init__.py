"""The laboratory of hybrid: measures ranking, gate, records, memory, redaction and speed, and trains models."""
