"""What one agent conversation already got: its ledger and its last topic id."""
