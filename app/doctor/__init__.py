"""`taktsight doctor`: what of this machine stands in the way of inspecting, and what to do about it."""
