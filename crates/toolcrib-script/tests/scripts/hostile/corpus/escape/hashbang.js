// ends: defined
#!/bin/sh -c id
return 1;
