"""How the service is: what each camera does, what waits, what the machine has left."""
