"""Makes what is released: the wheel and the source archive, the same to the byte each time, and the list of their parts."""
