"""The warm service: keeps indexes and the embedder open, answers hook events, keeps indexes fresh."""
