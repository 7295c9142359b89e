// ends: defined
<!-- is a comment in sloppy scripts
return 1;
--> so is this
