"""9. Outcomes to whoever subscribes."""
