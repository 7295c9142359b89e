// ends: refused
/* the wrapper ends here
