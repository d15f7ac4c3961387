"""Log lines that cost the caller nothing: a bounded queue to one writer thread, drops counted."""
