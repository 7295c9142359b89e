// ends: defined
debugger;
return typeof print;
