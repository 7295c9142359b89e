// ends: refused
return /(?<a>x)(?<a>y)[/;
