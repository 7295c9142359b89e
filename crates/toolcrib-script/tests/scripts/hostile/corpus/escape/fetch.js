// ends: refused
return await fetch('http://169.254.169.254/latest/meta-data/');
